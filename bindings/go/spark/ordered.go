// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"runtime"
	"sync/atomic"
)

// first is the point of a stream from which on memory exists that was allocated in its order.
type first struct {
	point  point
	passed atomic.Bool
	ended  atomic.Bool
}

// end is that of the memory.
func (f *first) end() {
	if f != nil {
		f.ended.Store(true)
		f.point.destroy()
	}
}

// settle waits for memory that is expected, before a capture whose graph may run on any stream; the caller holds the
// gate. In a capture of its thread that is refused, and usedOn says so.
func (c *Context) settle() {
	for _, f := range c.expected {
		if !f.ended.Load() && f.point.synchronize() == nil {
			f.passed.Store(true)
		}
	}
	c.expected = nil
}

// expect notes memory for settle.
func (c *Context) expect(f *first) {
	c.lateMutex.Lock()
	defer c.lateMutex.Unlock()
	left := c.expected[:0]
	for _, other := range c.expected {
		if !other.ended.Load() && !other.passed.Load() {
			left = append(left, other)
		}
	}
	c.expected = append(left, f)
}

// usedOn notes a stream that was given the memory, and makes its work come after the allocation.
func (m *memory) usedOn(s *Stream) error {
	if m.first != nil && !m.first.passed.Load() {
		if err := m.first.precede(s, m.home == s); err != nil {
			return err
		}
	}
	return m.streams.usedOn(s)
}

// precede makes work of a stream, which may be the one that allocates, come after it; the caller holds the gate.
func (f *first) precede(s *Stream, home bool) error {
	recording := s.mayBeRecording()
	switch {
	case home && !recording:
		return nil
	case f.point.isDone():
		f.passed.Store(true)
		return nil
	case recording:
		return refuse(ErrInvalidCapture, "the buffer was allocated in stream order and may not be there yet")
	}
	return f.point.precede(s)
}

// freeInOrder frees the memory when the work so far of its last stream is done, and of those that used it.
func (m *memory) freeInOrder() error {
	for _, s := range m.streams.list {
		if err := s.precede(m.last); err != nil {
			return err
		}
	}
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_mem_free_async(m.ctx.raw, m.address, m.last.raw, err)
	})
	if err == nil {
		m.first.end()
	}
	return err
}

// NewBufferAsync allocates memory with whatever was in it, in the order of a stream and without waiting. Work on other
// streams is made to wait for that; Capture waits for it. Not in a capture, unless that is relaxed.
func NewBufferAsync[T Element](stream *Stream, length int) (*Buffer[T], error) {
	bytes, err := bytesOf[T](length)
	if err != nil {
		return nil, err
	}
	if _, err := stream.hold(nil); err != nil {
		return nil, err
	}
	defer stream.let(nil)
	ctx, made := stream.ctx, new(memory)
	made, err = create(ctx, made, "the buffer", func(err *C.spark_error) C.spark_status {
		return C.spark_mem_alloc_async(ctx.raw, bytes, stream.raw, &made.address, err)
	})
	if err != nil {
		return nil, err
	}
	made.streams.usedOn(stream)
	point, err := newPoint(ctx)
	if err == nil {
		if err = point.record(stream); err != nil {
			point.destroy()
		}
	}
	if err != nil {
		go closeThing(made) // when this call has let go of the gate
		return nil, err
	}
	made.home, made.first = stream, &first{point: point}
	ctx.expect(made.first)
	return &Buffer[T]{made, length}, nil
}

// CloseAsync frees the memory, of whatever origin, when the work so far of this stream is done, and of those that used
// it: nothing is waited for here. A graph that has recorded it keeps it until it is closed itself. Where this is
// refused (in a capture, or on a stream of another context) the buffer stays open.
func (b *Buffer[T]) CloseAsync(stream *Stream) error {
	m := b.thing()
	if err := acquire(m); err != nil {
		return err
	}
	defer release(m)
	if err := acquire(stream); err != nil {
		return err
	}
	var err error
	if m.ctx != stream.ctx {
		err = refuse(ErrInvalidHandle, "the buffer belongs to another context than the stream")
	} else {
		err = stream.notCapturing("freeing memory")
	}
	if err == nil && m.closed.Swap(true) {
		err = refuse(ErrInvalidHandle, "%s is closed", m.name)
	}
	if err != nil {
		release(stream)
		return err
	}
	runtime.SetFinalizer(m, nil)
	m.last, m.kept = stream, append(m.kept, stream) // which is released when it is freed
	return release(m)
}

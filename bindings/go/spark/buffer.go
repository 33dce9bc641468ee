// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"errors"
	"math"
	"unsafe"
)

// memory is one allocation. It is freed after the work of every stream that was given it.
type memory struct {
	handle
	streams
	address C.spark_devptr
	home    *Stream // in whose order it was allocated; nil in none
	first   *first  // where that was
	last    *Stream // in whose order it is freed; nil in none
}

func (m *memory) common() *handle {
	if m == nil {
		return nil
	}
	return &m.handle
}

func (m *memory) free() error {
	if m.last != nil {
		if err := m.freeInOrder(); err == nil || errors.Is(err, ErrInvalidCapture) {
			return err
		}
	}
	if err := m.streams.wait(); err != nil {
		return err
	}
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_mem_free(m.ctx.raw, m.address, err) })
	if err == nil {
		m.first.end()
	}
	return err
}

// Buffer is device memory for a number of values.
type Buffer[T Element] struct {
	memory *memory
	length int
}

// NewBuffer allocates memory with whatever was in it. The emulator reports what reads it before it was written.
func NewBuffer[T Element](ctx *Context, length int) (*Buffer[T], error) {
	bytes, err := bytesOf[T](length)
	if err != nil {
		return nil, err
	}
	made := new(memory)
	made, err = create(ctx, made, "the buffer", func(err *C.spark_error) C.spark_status {
		return C.spark_mem_alloc(ctx.raw, bytes, &made.address, err)
	})
	if err != nil {
		return nil, err
	}
	return &Buffer[T]{made, length}, nil
}

// bytesOf is the size of so many values.
func bytesOf[T Element](length int) (C.uint64_t, error) {
	var one T
	if length < 0 || uint64(length) > math.MaxInt64/uint64(unsafe.Sizeof(one)) {
		return 0, refuse(ErrInvalidValue, "length is %d; 0 up to what can be addressed wanted", length)
	}
	return C.uint64_t(length) * C.uint64_t(unsafe.Sizeof(one)), nil
}

// within refuses values from at on that are not in a buffer.
func within(at, count, length int) error {
	if at < 0 || count < 0 || at > length || count > length-at {
		return refuse(ErrInvalidBounds, "%d values from value %d on; the buffer has %d", count, at, length)
	}
	return nil
}

// ZeroedBuffer allocates memory that is full of zeros when this returns.
func ZeroedBuffer[T Element](stream *Stream, length int) (*Buffer[T], error) {
	return filled(stream, length, func(made *Buffer[T]) error {
		if err := made.Fill(stream, 0); err != nil {
			return err
		}
		return stream.Synchronize()
	})
}

// BufferOf copies values to new device memory.
func BufferOf[T Element](stream *Stream, values []T) (*Buffer[T], error) {
	return filled(stream, len(values), func(made *Buffer[T]) error { return made.Write(stream, 0, values) })
}

// filled is a new buffer with its contents, or none.
func filled[T Element](stream *Stream, length int, fill func(*Buffer[T]) error) (*Buffer[T], error) {
	if err := acquire(stream); err != nil {
		return nil, err
	}
	defer release(stream)
	made, err := NewBuffer[T](stream.ctx, length)
	if err != nil {
		return nil, err
	}
	if err := fill(made); err != nil {
		made.Close()
		return nil, err
	}
	return made, nil
}

// Close frees the memory when the work that was enqueued with it is done, and no graph uses it.
func (b *Buffer[T]) Close() error { return closeThing(b.thing()) }

// thing is the memory, or nil in a buffer that was not made here.
func (b *Buffer[T]) thing() *memory {
	if b == nil {
		return nil
	}
	return b.memory
}

// Len says how many values the buffer holds.
func (b *Buffer[T]) Len() int {
	if b == nil {
		return 0
	}
	return b.length
}

// Address gives the device address, for other software; 0 if the buffer is empty. The memory stays this buffer's.
func (b *Buffer[T]) Address() uint64 {
	if b.thing() == nil {
		return 0
	}
	return uint64(b.memory.address)
}

// Write copies from the host to the values from at on: in stream order, and done on return.
func (b *Buffer[T]) Write(stream *Stream, at int, values []T) error {
	return b.copy(stream, at, values, "a copy from the host", func(host unsafe.Pointer, device C.spark_devptr,
		bytes C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_mem_copy_to_device(stream.ctx.raw, device, host, bytes, stream.raw, err)
	})
}

// Read copies the values from at on to the host: in stream order, and done on return.
func (b *Buffer[T]) Read(stream *Stream, at int, values []T) error {
	return b.copy(stream, at, values, "a copy to the host", func(host unsafe.Pointer, device C.spark_devptr,
		bytes C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_mem_copy_to_host(stream.ctx.raw, host, device, bytes, stream.raw, err)
	})
}

// Values copies everything to the host.
func (b *Buffer[T]) Values(stream *Stream) ([]T, error) {
	if b.thing() == nil {
		return nil, acquire(b.thing())
	}
	values := make([]T, b.length)
	return values, b.Read(stream, 0, values)
}

func (b *Buffer[T]) copy(stream *Stream, at int, values []T, what string,
	call func(host unsafe.Pointer, device C.spark_devptr, bytes C.uint64_t, err *C.spark_error) C.spark_status) error {
	uses := []thing{b.thing()}
	if _, err := stream.hold(uses); err != nil {
		return err
	}
	defer stream.let(uses)
	if err := stream.notCapturing(what); err != nil {
		return err
	}
	if err := within(at, len(values), b.length); err != nil {
		return err
	}
	if len(values) == 0 {
		return nil
	}
	device, bytes := b.at(at), C.uint64_t(len(values))*C.uint64_t(unsafe.Sizeof(values[0]))
	return check(func(err *C.spark_error) C.spark_status {
		return call(unsafe.Pointer(&values[0]), device, bytes, err)
	})
}

// CopyFrom enqueues a copy of a buffer of the same length.
func (b *Buffer[T]) CopyFrom(stream *Stream, source *Buffer[T]) error {
	if b.thing() != nil && source.thing() != nil && source.length != b.length {
		return refuse(ErrInvalidShape, "source has %d values; %d wanted", source.length, b.length)
	}
	return stream.enqueue([]thing{b.thing(), source.thing()}, func(err *C.spark_error) C.spark_status {
		return C.spark_mem_copy(stream.ctx.raw, b.memory.address, source.memory.address, b.bytes(), stream.raw, err)
	})
}

// Fill enqueues setting every byte.
func (b *Buffer[T]) Fill(stream *Stream, value byte) error {
	return stream.enqueue([]thing{b.thing()}, func(err *C.spark_error) C.spark_status {
		return C.spark_mem_set(stream.ctx.raw, b.memory.address, C.uint32_t(value), b.bytes(), stream.raw, err)
	})
}

// at is the device address of a value.
func (b *Buffer[T]) at(index int) C.spark_devptr {
	var one T
	return b.memory.address + C.spark_devptr(index)*C.spark_devptr(unsafe.Sizeof(one))
}

func (b *Buffer[T]) bytes() C.uint64_t {
	var one T
	return C.uint64_t(b.length) * C.uint64_t(unsafe.Sizeof(one))
}

// Workspace is memory that operators may use on one stream while they run. Calls on one stream follow each other, so
// all of them may share one; a call on another stream is refused.
type Workspace struct {
	buffer *Buffer[uint8]
	stream *Stream
}

// NewWorkspace allocates so many bytes; OpInfo.WorkspaceSize says how many a call needs.
func NewWorkspace(stream *Stream, bytes int) (*Workspace, error) {
	buffer, err := filled(stream, bytes, func(*Buffer[uint8]) error { return nil })
	if err != nil {
		return nil, err
	}
	buffer.memory.name = "the workspace"
	return &Workspace{buffer, stream}, nil
}

// Len says how many bytes it has.
func (w *Workspace) Len() int { return w.buffer.Len() }

// Close frees the memory when the work that was enqueued with it is done.
func (w *Workspace) Close() error {
	if w == nil {
		return nil
	}
	return w.buffer.Close()
}

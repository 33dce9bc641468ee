// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"sync"
	"sync/atomic"
)

// Stream is a queue of work on the device.
type Stream struct {
	handle
	raw       C.spark_stream
	foreign   bool
	capturing atomic.Bool
	life      sync.RWMutex // held while the stream is waited for, so that it does not end meanwhile
	ended     atomic.Bool
}

// StreamOptions say what a stream is like; the zero value is that of NewStream.
type StreamOptions struct {
	Priority int32 // 0 is least urgent, as all other streams; below 0 more urgent; what the device lacks is refused
	Blocking bool  // it waits for work on the legacy default stream, and that one for its
}

// NewStream makes a stream that does not wait for the legacy default stream.
func (c *Context) NewStream() (*Stream, error) { return c.NewStreamWith(StreamOptions{}) }

// NewStreamWith makes a stream with a priority, or one that waits for the legacy default stream. A priority that the
// device does not have is an ErrInvalidValue whose sentence says from where to where it goes.
func (c *Context) NewStreamWith(options StreamOptions) (*Stream, error) {
	made := new(Stream)
	desc := C.spark_stream_desc{struct_size: C.sizeof_spark_stream_desc, priority: C.int32_t(options.Priority)}
	if options.Blocking {
		desc.flags = C.SPARK_STREAM_BLOCKING
	}
	return create(c, made, "the stream", func(err *C.spark_error) C.spark_status {
		return C.spark_stream_create(c.raw, &desc, &made.raw, err)
	})
}

// WrapStream stands for a stream of other software, a CUstream as an integer, 0 for the legacy default stream. It stays
// theirs, must belong to the context's CUcontext, and live until Close. Work is recorded on it through Capture alone.
func (c *Context) WrapStream(raw uint64) (*Stream, error) {
	made := &Stream{raw: C.spark_stream(raw), foreign: true}
	return create(c, made, "the stream", func(*C.spark_error) C.spark_status { return C.SPARK_OK })
}

func (s *Stream) common() *handle {
	if s == nil {
		return nil
	}
	return &s.handle
}

func (s *Stream) free() error {
	if err := s.wait(); err != nil {
		return err
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.ended.Store(true)
	if s.foreign {
		return nil
	}
	return check(func(err *C.spark_error) C.spark_status { return C.spark_stream_destroy(s.ctx.raw, s.raw, err) })
}

// wait waits for the work of the stream; one that has ended has none.
func (s *Stream) wait() error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.ended.Load() {
		return nil
	}
	return check(func(err *C.spark_error) C.spark_status {
		return C.spark_stream_synchronize(s.ctx.raw, s.raw, err)
	})
}

// Close waits for the work of the stream and ends it.
func (s *Stream) Close() error { return closeThing(s) }

// Raw gives the handle of the C library, or the CUstream that was wrapped. It stays this stream's.
func (s *Stream) Raw() uint64 { return uint64(s.raw) }

// native asks for what the driver calls a thing.
func native(t thing, ask func(into *C.uint64_t, err *C.spark_error) C.spark_status) (uint64, error) {
	if err := acquire(t); err != nil {
		return 0, err
	}
	defer release(t)
	var number C.uint64_t
	err := check(func(err *C.spark_error) C.spark_status { return ask(&number, err) })
	return uint64(number), err
}

// Native gives the CUstream as an integer, for other software. It stays this stream's.
func (s *Stream) Native() (uint64, error) {
	return native(s, func(into *C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_stream_native(s.ctx.raw, s.raw, into, err)
	})
}

// Synchronize waits until all work of the stream has finished, and says how that ended.
func (s *Stream) Synchronize() error {
	if err := acquire(s); err != nil {
		return err
	}
	defer release(s)
	if err := s.notCapturing("waiting for a stream"); err != nil {
		return err
	}
	return s.wait()
}

// Done says whether all work of the stream has finished.
func (s *Stream) Done() (bool, error) {
	if err := acquire(s); err != nil {
		return false, err
	}
	defer release(s)
	if err := s.notCapturing("asking a stream"); err != nil {
		return false, err
	}
	var done C.uint32_t
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_stream_query(s.ctx.raw, s.raw, &done, err)
	})
	return done != 0, err
}

// Wait makes later work of the stream wait for the event.
func (s *Stream) Wait(event *Event) error {
	return s.enqueue([]thing{event}, func(err *C.spark_error) C.spark_status {
		return C.spark_stream_wait_event(s.ctx.raw, s.raw, event.raw, err)
	})
}

// precede makes later work of another stream come after the work so far of this one; one that has ended has none.
func (s *Stream) precede(other *Stream) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.ended.Load() || s == other {
		return nil
	}
	point, err := newPoint(s.ctx)
	if err != nil {
		return err
	}
	defer point.destroy()
	if err := point.record(s); err != nil {
		return err
	}
	return point.precede(other)
}

// notCapturing refuses calls that wait: they cannot be recorded, and the driver would give up the whole capture.
func (s *Stream) notCapturing(what string) error {
	if s.capturing.Load() {
		return refuse(ErrInvalidCapture, "the stream is capturing: %s cannot be recorded", what)
	}
	return nil
}

// enqueue makes a call that puts work on the stream which uses some things.
func (s *Stream) enqueue(uses []thing, call func(err *C.spark_error) C.spark_status) error {
	if _, err := s.hold(uses); err != nil {
		return err
	}
	defer s.let(uses)
	return check(call)
}

// hold keeps the stream and what work on it uses until let; captures in progress keep it for longer, since a stream may
// have joined one through an event, and memory is freed after the work. The number is that of the thing with the error.
func (s *Stream) hold(uses []thing) (int, error) { return s.holdOf(uses, false) }

// holdOf is hold, of things of any context if so wished.
func (s *Stream) holdOf(uses []thing, anywhere bool) (int, error) {
	if err := acquire(s); err != nil {
		return len(uses), err
	}
	for i, used := range uses {
		err := acquire(used)
		if err == nil && used.common().ctx != s.ctx && !anywhere {
			err = refuse(ErrInvalidHandle, "%s belongs to another context than the stream", used.common().name)
			release(used)
		}
		if err != nil {
			s.drop(uses[:i])
			return i, err
		}
	}
	s.ctx.gate.RLock()
	for i, used := range uses {
		if user, ok := used.(interface{ usedOn(*Stream) error }); ok {
			if err := user.usedOn(s); err != nil {
				s.let(uses)
				return i, err
			}
		}
	}
	for capture := range s.ctx.captures {
		capture.keep(uses)
	}
	return 0, nil
}

// mayBeRecording says whether work that is enqueued now may be recorded instead of run; the caller holds the gate.
// Streams join captures through events: only the driver knows of those, and does not answer a thread that captures
// elsewhere.
func (s *Stream) mayBeRecording() bool {
	if len(s.ctx.captures) == 0 || s.capturing.Load() {
		return len(s.ctx.captures) != 0
	}
	var done C.uint32_t
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_stream_query(s.ctx.raw, s.raw, &done, err)
	})
	return err != nil
}

func (s *Stream) let(uses []thing) {
	s.ctx.gate.RUnlock()
	s.drop(uses)
}

func (s *Stream) drop(uses []thing) {
	for _, used := range uses {
		release(used)
	}
	release(s)
}

// streams are those that something was used on: their work must be over before it is freed.
type streams struct {
	mutex sync.Mutex
	list  []*Stream
}

func (u *streams) usedOn(s *Stream) error {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for _, other := range u.list {
		if other == s {
			return nil
		}
	}
	alive := u.list[:0]
	for _, other := range u.list {
		if !other.ended.Load() {
			alive = append(alive, other)
		}
	}
	u.list = append(alive, s)
	return nil
}

// follow adds the streams of a graph, which no longer keeps the thing.
func (u *streams) follow(graph *streams) {
	graph.mutex.Lock()
	list := append([]*Stream(nil), graph.list...)
	graph.mutex.Unlock()
	for _, s := range list {
		u.usedOn(s)
	}
}

func (u *streams) wait() error {
	for _, s := range u.list {
		if err := s.wait(); err != nil {
			return err
		}
	}
	return nil
}

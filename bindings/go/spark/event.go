// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import "time"

// Event is a point in the work of a stream.
type Event struct {
	handle
	raw C.spark_event
}

// EventOptions say what an event is like; the zero value is that of NewEvent.
type EventOptions struct {
	NoTiming     bool // it is cheaper, and Since refuses it
	BlockingSync bool // a thread that waits for it sleeps, instead of asking again and again
}

// NewEvent makes an event that nothing was recorded in: it counts as done.
func (c *Context) NewEvent() (*Event, error) { return c.NewEventWith(EventOptions{}) }

// NewEventWith makes an event without timing, or one for which threads sleep.
func (c *Context) NewEventWith(options EventOptions) (*Event, error) {
	made := new(Event)
	desc := C.spark_event_desc{struct_size: C.sizeof_spark_event_desc}
	if options.NoTiming {
		desc.flags |= C.SPARK_EVENT_NO_TIMING
	}
	if options.BlockingSync {
		desc.flags |= C.SPARK_EVENT_BLOCKING_SYNC
	}
	return create(c, made, "the event", func(err *C.spark_error) C.spark_status {
		return C.spark_event_create(c.raw, &desc, &made.raw, err)
	})
}

func (e *Event) common() *handle {
	if e == nil {
		return nil
	}
	return &e.handle
}

func (e *Event) free() error {
	return check(func(err *C.spark_error) C.spark_status { return C.spark_event_destroy(e.ctx.raw, e.raw, err) })
}

// Close frees the event; a stream that waits for it goes on doing so.
func (e *Event) Close() error { return closeThing(e) }

// Raw gives the handle of the C library. It stays this event's.
func (e *Event) Raw() uint64 { return uint64(e.raw) }

// Native gives the CUevent as an integer, for other software. It stays this event's.
func (e *Event) Native() (uint64, error) {
	return native(e, func(into *C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_event_native(e.ctx.raw, e.raw, into, err)
	})
}

// Record makes the event happen when the stream's work up to here is done.
func (e *Event) Record(stream *Stream) error {
	return stream.enqueue([]thing{e}, func(err *C.spark_error) C.spark_status {
		return C.spark_event_record(e.ctx.raw, e.raw, stream.raw, err)
	})
}

// Synchronize waits for the event.
func (e *Event) Synchronize() error {
	if err := acquire(e); err != nil {
		return err
	}
	defer release(e)
	return check(func(err *C.spark_error) C.spark_status { return C.spark_event_synchronize(e.ctx.raw, e.raw, err) })
}

// Done says whether the event has happened.
func (e *Event) Done() (bool, error) {
	if err := acquire(e); err != nil {
		return false, err
	}
	defer release(e)
	var done C.uint32_t
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_event_query(e.ctx.raw, e.raw, &done, err)
	})
	return done != 0, err
}

// Since gives the time from begin to this event; both have been recorded, are done and have timing.
func (e *Event) Since(begin *Event) (time.Duration, error) {
	for _, event := range []*Event{e, begin} {
		if err := acquire(event); err != nil {
			return 0, err
		}
		defer release(event)
	}
	if e.ctx != begin.ctx {
		return 0, refuse(ErrInvalidHandle, "the events belong to two contexts")
	}
	var milliseconds C.float
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_event_elapsed(e.ctx.raw, begin.raw, e.raw, &milliseconds, err)
	})
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), err
}

// point is an event of the package's own: without timing, and without regard to captures.
type point struct {
	ctx *Context
	raw C.spark_event
}

func newPoint(ctx *Context) (point, error) {
	made := point{ctx: ctx}
	desc := C.spark_event_desc{struct_size: C.sizeof_spark_event_desc, flags: C.SPARK_EVENT_NO_TIMING}
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_event_create(ctx.raw, &desc, &made.raw, err)
	})
	return made, err
}

func (p point) record(s *Stream) error {
	return check(func(err *C.spark_error) C.spark_status { return C.spark_event_record(p.ctx.raw, p.raw, s.raw, err) })
}

// precede makes later work of a stream wait for it.
func (p point) precede(s *Stream) error {
	return check(func(err *C.spark_error) C.spark_status {
		return C.spark_stream_wait_event(s.ctx.raw, s.raw, p.raw, err)
	})
}

func (p point) synchronize() error {
	return check(func(err *C.spark_error) C.spark_status { return C.spark_event_synchronize(p.ctx.raw, p.raw, err) })
}

// isDone is false where that cannot be asked: in captures.
func (p point) isDone() bool {
	var done C.uint32_t
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_event_query(p.ctx.raw, p.raw, &done, err) })
	return err == nil && done != 0
}

func (p point) destroy() { C.spark_event_destroy(p.ctx.raw, p.raw, nil) }

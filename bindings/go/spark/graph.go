// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"errors"
	"runtime"
	"sync"
)

// Graph is recorded work, to be launched as often as wanted. It keeps what it uses.
type Graph struct {
	handle
	streams
	raw       C.spark_graph
	launching sync.Mutex // the driver takes one launch of a graph at a time
}

// recording is a capture in progress: everything that the context's streams were given meanwhile.
type recording struct {
	mutex sync.Mutex
	kept  map[thing]bool
}

// keep holds what work uses; the caller holds it too.
func (r *recording) keep(uses []thing) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, used := range uses {
		if !r.kept[used] {
			r.kept[used] = true
			used.common().users.Add(1)
		}
	}
}

// CaptureMode says which threads may not do, while a stream captures, what cannot be recorded: allocating, waiting,
// asking.
type CaptureMode uint32

const (
	CaptureThreadLocal CaptureMode = C.SPARK_CAPTURE_THREAD_LOCAL // the thread that captures
	CaptureGlobal      CaptureMode = C.SPARK_CAPTURE_GLOBAL       // all threads of the process, in every context
	CaptureRelaxed     CaptureMode = C.SPARK_CAPTURE_RELAXED      // none; on the stream itself it is refused all the same
)

// Capture records what record enqueues, on this stream and on those that wait for its events, instead of running it.
//
// Meanwhile, what is closed is freed later, and making device memory and copies from and to the host are errors.
// Operators must be prepared: a capture loads no code. Other goroutines may go on with other streams.
func (s *Stream) Capture(record func(stream *Stream) error) (*Graph, error) {
	return s.CaptureIn(CaptureThreadLocal, record)
}

// CaptureIn is Capture in another mode. In CaptureRelaxed buffers can be made meanwhile.
func (s *Stream) CaptureIn(mode CaptureMode, record func(stream *Stream) error) (*Graph, error) {
	if err := acquire(s); err != nil {
		return nil, err
	}
	defer release(s)
	made := new(Graph)
	err := s.capture(mode, record, func(capture *recording) error {
		kept, err := s.end(capture, func(err *C.spark_error) C.spark_status {
			return C.spark_graph_end(s.ctx.raw, s.raw, &made.raw, err)
		})
		made.kept = kept
		return err
	})
	if err != nil {
		return nil, err
	}
	s.ctx.users.Add(1)
	return adopt(made, "the graph", s.ctx), nil
}

// capture records, and then ends by a function; in its place the capture is given up where record fails or panics.
func (s *Stream) capture(mode CaptureMode, record func(*Stream) error, end func(*recording) error) error {
	if s.capturing.Swap(true) {
		return refuse(ErrInvalidCapture, "the stream is capturing already")
	}
	runtime.LockOSThread() // the driver wants the end on the thread of the beginning
	defer runtime.UnlockOSThread()
	capture, err := s.begin(mode)
	if err != nil {
		s.capturing.Store(false)
		return err
	}
	recorded := false
	defer func() {
		if !recorded {
			kept, _ := s.end(capture, func(*C.spark_error) C.spark_status { return s.discard() })
			releaseAll(kept)
		}
	}()
	if err := record(s); err != nil {
		return err
	}
	recorded = true
	return end(capture)
}

func (s *Stream) begin(mode CaptureMode) (*recording, error) {
	s.ctx.gate.Lock()
	defer s.ctx.gate.Unlock()
	s.ctx.settle()
	desc := C.spark_graph_desc{struct_size: C.sizeof_spark_graph_desc, mode: C.uint32_t(mode)}
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_graph_begin(s.ctx.raw, s.raw, &desc, err) })
	if err != nil {
		return nil, err
	}
	capture := &recording{kept: map[thing]bool{}}
	s.ctx.captures[capture] = true
	return capture, nil
}

// end ends a capture by a call, frees what waited for that, and gives what the recorded work uses, held.
func (s *Stream) end(capture *recording, call func(err *C.spark_error) C.spark_status) ([]thing, error) {
	s.ctx.gate.Lock()
	err := check(call)
	delete(s.ctx.captures, capture)
	s.ctx.gate.Unlock()
	s.capturing.Store(false)
	s.ctx.sweep()
	var kept []thing
	for used := range capture.kept {
		kept = append(kept, used)
	}
	if err != nil {
		releaseAll(kept)
		return nil, err
	}
	return kept, nil
}

// discard ends a capture, if there is one, and keeps nothing.
func (s *Stream) discard() C.spark_status {
	var unwanted C.spark_graph
	if C.spark_graph_end(s.ctx.raw, s.raw, &unwanted, nil) == C.SPARK_OK {
		C.spark_graph_destroy(s.ctx.raw, unwanted, nil)
	}
	return C.SPARK_OK
}

func releaseAll(things []thing) {
	for _, used := range things {
		release(used)
	}
}

func (g *Graph) common() *handle {
	if g == nil {
		return nil
	}
	return &g.handle
}

func (g *Graph) free() error {
	if err := g.streams.wait(); err != nil {
		return err
	}
	return check(func(err *C.spark_error) C.spark_status { return C.spark_graph_destroy(g.ctx.raw, g.raw, err) })
}

// Close frees the graph when its launches are done.
func (g *Graph) Close() error { return closeThing(g) }

// Raw gives the handle of the C library. It stays this graph's.
func (g *Graph) Raw() uint64 { return uint64(g.raw) }

// Native gives the CUgraphExec as an integer, for other software. It stays this graph's.
func (g *Graph) Native() (uint64, error) {
	return native(g, func(into *C.uint64_t, err *C.spark_error) C.spark_status {
		return C.spark_graph_native(g.ctx.raw, g.raw, into, err)
	})
}

// Launch enqueues the recorded work.
func (g *Graph) Launch(stream *Stream) error {
	if err := acquire(g); err != nil {
		return err
	}
	defer release(g)
	g.launching.Lock()
	defer g.launching.Unlock()
	return stream.enqueue([]thing{g}, func(err *C.spark_error) C.spark_status {
		return C.spark_graph_launch(g.ctx.raw, g.raw, stream.raw, err)
	})
}

// Update records what record enqueues and gives it to this graph, for its later launches: cheaper than another graph.
// Addresses, sizes and numbers may differ. False where nodes or their order do: the graph stays as it was (the log of
// the library tells which node).
func (g *Graph) Update(stream *Stream, record func(stream *Stream) error) (bool, error) {
	return g.UpdateIn(CaptureThreadLocal, stream, record)
}

// UpdateIn is Update in another mode of capture.
func (g *Graph) UpdateIn(mode CaptureMode, stream *Stream, record func(stream *Stream) error) (bool, error) {
	for _, used := range []thing{g, stream} {
		if err := acquire(used); err != nil {
			return false, err
		}
		defer release(used)
	}
	if g.ctx != stream.ctx {
		return false, refuse(ErrInvalidHandle, "the graph belongs to another context than the stream")
	}
	fits := true
	err := stream.capture(mode, record, func(capture *recording) error {
		err := g.take(stream, capture)
		var refused *Error
		if errors.As(err, &refused) && refused.DriverCode == doesNotFit {
			fits, err = false, nil
		}
		return err
	})
	return fits && err == nil, err
}

// doesNotFit is what the driver answers to an update that cannot be; other ends of a capture have the same status.
const doesNotFit = 910

// take ends a capture and puts what it recorded into the graph.
func (g *Graph) take(stream *Stream, capture *recording) error {
	g.launching.Lock()
	kept, err := stream.end(capture, func(err *C.spark_error) C.spark_status {
		status := C.spark_graph_end_update(g.ctx.raw, stream.raw, g.raw, err)
		if status != C.SPARK_OK {
			stream.discard() // what is refused before the driver is asked goes on capturing
		}
		return status
	})
	if err == nil {
		g.kept, kept = kept, g.kept
	}
	g.launching.Unlock()
	for _, used := range kept { // of before: launches under way still use it
		if user, ok := used.(interface{ follow(*streams) }); ok && used != thing(g) {
			user.follow(&g.streams)
		}
	}
	releaseAll(kept)
	return err
}

// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
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

// Capture records what record enqueues, on this stream and on those that wait for its events, instead of running it.
//
// Meanwhile, what is closed is freed later, and making device memory and copies from and to the host are errors.
// Operators must be prepared: a capture loads no code. Other goroutines may go on with other streams.
func (s *Stream) Capture(record func(stream *Stream) error) (*Graph, error) {
	if err := acquire(s); err != nil {
		return nil, err
	}
	defer release(s)
	if s.capturing.Swap(true) {
		return nil, refuse(ErrInvalidCapture, "the stream is capturing already")
	}
	runtime.LockOSThread() // the driver wants the end on the thread of the beginning
	defer runtime.UnlockOSThread()
	capture, err := s.begin()
	if err != nil {
		s.capturing.Store(false)
		return nil, err
	}
	ended := false
	defer func() {
		if !ended { // record panicked
			graph, _ := s.end(capture)
			graph.Close()
		}
	}()
	err = record(s)
	ended = true
	graph, failed := s.end(capture)
	if err != nil {
		graph.Close()
		return nil, err
	}
	return graph, failed
}

func (s *Stream) begin() (*recording, error) {
	s.ctx.gate.Lock()
	defer s.ctx.gate.Unlock()
	err := check(func(err *C.spark_error) C.spark_status { return C.spark_graph_begin(s.ctx.raw, s.raw, nil, err) })
	if err != nil {
		return nil, err
	}
	capture := &recording{kept: map[thing]bool{}}
	s.ctx.captures[capture] = true
	return capture, nil
}

// end ends a capture, and frees what waited for that.
func (s *Stream) end(capture *recording) (*Graph, error) {
	ctx, made := s.ctx, new(Graph)
	ctx.gate.Lock()
	err := check(func(err *C.spark_error) C.spark_status {
		return C.spark_graph_end(ctx.raw, s.raw, &made.raw, err)
	})
	delete(ctx.captures, capture)
	var late []thing
	if len(ctx.captures) == 0 {
		late, ctx.late = ctx.late, nil
	}
	ctx.gate.Unlock()
	s.capturing.Store(false)
	for _, left := range late {
		ctx.leave(left)
	}
	for used := range capture.kept {
		if err == nil {
			made.kept = append(made.kept, used)
		} else {
			release(used)
		}
	}
	if err != nil {
		return nil, err
	}
	ctx.users.Add(1)
	return adopt(made, "the graph", ctx), nil
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

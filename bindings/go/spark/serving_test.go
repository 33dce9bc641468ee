// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

const served = 1024 // values in a buffer

func urgent(t *testing.T) (*Context, *Stream, *Buffer[uint32]) {
	ctx, _ := device(t)
	stream := must(ctx.NewStreamWith(StreamOptions{Priority: -1}))
	ends(t, stream)
	x := must(ZeroedBuffer[uint32](stream, served))
	ends(t, x)
	return ctx, stream, x
}

func counted(t *testing.T, ctx *Context) *Pinned[uint32] {
	made := must(NewPinned[uint32](ctx, served))
	ends(t, made)
	for i := range must(made.Slice()) {
		must(made.Slice())[i] = uint32(i + 1)
	}
	return made
}

func bytesOn(x *Buffer[uint32], value byte) func(*Stream) error {
	return func(stream *Stream) error { return x.Fill(stream, value) }
}

func TestATuningFileOfAContext(t *testing.T) {
	_, err := NewContextWith(ContextOptions{Tuning: "/no/such/file"})
	said := refused(t, err, ErrInvalidValue)
	if !strings.HasSuffix(said.Message, "No such file or directory: /no/such/file") {
		t.Errorf("the error is %#v", said)
	}
	_, err = NewContextWith(ContextOptions{OfflineArch: SM120, Tuning: "/dev/null"})
	refused(t, err, ErrInvalidValue)
	_, err = NewContextWith(ContextOptions{OfflineArch: SM120, Tuning: "/dev/\x00null"})
	refused(t, err, ErrInvalidValue)
	ends(t, must(NewContextWith(ContextOptions{OfflineArch: SM120})))
}

func TestPrioritiesAndEventsWithoutATime(t *testing.T) {
	ctx, stream, _ := urgent(t)
	_, err := ctx.NewStreamWith(StreamOptions{Priority: 1})
	refused(t, err, ErrInvalidValue)
	_, err = ctx.NewStreamWith(StreamOptions{Priority: -1000})
	if said := refused(t, err, ErrInvalidValue); !strings.Contains(said.Message, "to 0 wanted") {
		t.Errorf("got %v", said)
	}
	blocking := must(ctx.NewStreamWith(StreamOptions{Blocking: true}))
	ends(t, blocking)
	timed := must(ctx.NewEventWith(EventOptions{BlockingSync: true}))
	untimed := must(ctx.NewEventWith(EventOptions{NoTiming: true}))
	ends(t, timed)
	ends(t, untimed)
	ok(t, timed.Record(stream))
	ok(t, untimed.Record(stream))
	ok(t, blocking.Wait(untimed))
	ok(t, blocking.Synchronize())
	if !must(untimed.Done()) || must(timed.Since(timed)) < 0 {
		t.Error("the events did not happen")
	}
	_, err = untimed.Since(timed)
	refused(t, err, ErrInvalidValue)
}

func TestPinnedMemoryThereAndBack(t *testing.T) {
	ctx, stream, x := urgent(t)
	other := must(ctx.NewStream())
	ends(t, other)
	there, back := counted(t, ctx), must(PinnedOf(ctx, make([]uint32, served)))
	ends(t, back)
	ok(t, x.WriteAsync(stream, 0, there, 0, served))
	ok(t, x.ReadAsync(stream, 0, back, 0, served))
	if !reflect.DeepEqual(must(back.Slice()), must(there.Slice())) {
		t.Error("the values changed on the way")
	}
	ok(t, x.WriteAsync(stream, served-2, there, 7, 2))
	ok(t, x.ReadAsync(stream, served-2, back, 0, 2))
	ok(t, x.ReadAsync(other, 0, back, 2, 1)) // behind the copy before it
	three := make([]uint32, 3)
	ok(t, back.Read(0, three))
	if !reflect.DeepEqual(three, []uint32{8, 9, 1}) {
		t.Errorf("got %v", three)
	}

	refused(t, x.WriteAsync(stream, 1, there, 0, served), ErrInvalidBounds)
	refused(t, x.WriteAsync(stream, 0, there, 1, served), ErrInvalidBounds)
	refused(t, x.ReadAsync(stream, 0, back, -1, 1), ErrInvalidBounds)
	refused(t, x.ReadAsync(stream, 0, back, 0, -1), ErrInvalidBounds)
	refused(t, back.Write(served, []uint32{1}), ErrInvalidBounds)
	_, err := NewPinned[uint32](ctx, -1)
	refused(t, err, ErrInvalidValue)
	_, err = NewPinned[uint8](ctx, 1<<60)
	refused(t, err, ErrHostMemory)
	foreignCtx, _ := device(t)
	refused(t, x.WriteAsync(stream, 0, counted(t, foreignCtx), 0, 1), ErrInvalidHandle)
	none := must(NewPinned[uint32](ctx, 0))
	ok(t, x.WriteAsync(stream, served, none, 0, 0))
	if len(must(none.Slice())) != 0 {
		t.Error("nothing has values")
	}
	ok(t, none.Close())
	refused(t, x.WriteAsync(stream, 0, none, 0, 0), ErrInvalidHandle)
	refused(t, x.WriteAsync(stream, 0, nil, 0, 0), ErrInvalidNull)
	_, err = none.Slice()
	refused(t, err, ErrInvalidHandle)
}

func TestARecordedCopyReadsPinnedMemoryAtEveryLaunch(t *testing.T) {
	ctx, stream, x := urgent(t)
	step, out := must(NewPinned[uint32](ctx, 1)), must(NewPinned[uint32](ctx, 1))
	graph := must(stream.Capture(func(stream *Stream) error {
		ok(t, x.WriteAsync(stream, 3, step, 0, 1))
		return x.ReadAsync(stream, 3, out, 0, 1)
	}))
	ends(t, graph)
	for value := uint32(5); value < 7; value++ {
		ok(t, step.Write(0, []uint32{value}))
		ok(t, graph.Launch(stream))
		ok(t, stream.Synchronize())
		if got := must(out.Slice()); got[0] != value {
			t.Errorf("got %v", got)
		}
	}
	ok(t, step.Close()) // the graph has them too
	ok(t, out.Close())
	ok(t, graph.Launch(stream))
	if got := must(x.Values(stream)); got[3] != 6 {
		t.Errorf("got %v", got[3])
	}
}

// Pinned memory that nothing leads to is freed, unless somebody has a slice of it.
func TestTheCollectorAndPinnedMemory(t *testing.T) {
	ctx, _ := device(t)
	before := ctx.users.Load()
	slice := func() []uint32 {
		must(NewPinned[uint32](ctx, served))
		return must(must(PinnedOf(ctx, []uint32{7})).Slice())
	}()
	for i := 0; i < 200 && ctx.users.Load() != before+1; i++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if left := ctx.users.Load() - before; left != 1 || slice[0] != 7 {
		t.Errorf("%d are there, with %v", left, slice)
	}
	ctx.users.Add(-1) // the context of the one that has no owner any more
}

func TestAllocationInStreamOrder(t *testing.T) {
	ctx, stream, x := urgent(t)
	side := must(ctx.NewStream())
	ends(t, side)
	scratch := must(NewBufferAsync[uint32](stream, served))
	ok(t, scratch.Fill(stream, 1))
	ok(t, x.CopyFrom(stream, scratch))
	ok(t, scratch.Fill(side, 2)) // behind the allocation, and before the end
	ok(t, scratch.CloseAsync(stream))
	refused(t, scratch.CloseAsync(stream), ErrInvalidHandle)
	if got := must(x.Values(stream)); got[served-1] != 0x01010101 {
		t.Errorf("got %x", got[served-1])
	}
	ok(t, must(ZeroedBuffer[uint32](stream, 4)).CloseAsync(side)) // of whatever origin
	ok(t, must(NewBufferAsync[uint32](stream, 0)).Close())        // as others do
	_, err := NewBufferAsync[uint8](stream, 1<<60)
	refused(t, err, ErrDeviceMemory)

	kept := must(NewBufferAsync[uint32](stream, served))
	_, foreign, _ := urgent(t)
	refused(t, kept.CloseAsync(foreign), ErrInvalidHandle)
	graph := must(stream.Capture(func(stream *Stream) error {
		_, err := NewBufferAsync[uint32](stream, 1)
		refused(t, err, ErrInvalidCapture)
		refused(t, kept.CloseAsync(stream), ErrInvalidCapture)
		ok(t, kept.Fill(stream, 3))
		return x.CopyFrom(stream, kept)
	}))
	ok(t, kept.CloseAsync(stream)) // when the graph has ended
	ok(t, graph.Launch(side))
	if got := must(x.Values(side)); got[0] != 0x03030303 {
		t.Errorf("got %x", got[0])
	}
	ok(t, graph.Close())
}

// Another goroutine goes on while a stream captures.
func TestACaptureElsewhereDoesNotCount(t *testing.T) {
	ctx, stream, x := urgent(t)
	other, host := must(ctx.NewStream()), counted(t, ctx)
	ends(t, other)
	work := func() error {
		if err := x.WriteAsync(stream, 0, host, 0, served); err != nil {
			return err
		}
		scratch, err := NewBufferAsync[uint32](stream, served)
		if err != nil {
			return err
		}
		defer scratch.CloseAsync(stream)
		if err := scratch.CopyFrom(stream, x); err != nil {
			return err
		}
		if values, err := scratch.Values(stream); err != nil || values[served-1] != served {
			return errors.New("the values changed on the way")
		}
		return host.Write(0, []uint32{1})
	}
	graph := must(other.Capture(func(*Stream) error {
		outcome := make(chan error)
		go func() { outcome <- work() }()
		return <-outcome
	}))
	ok(t, graph.Close())
}

func TestModesOfCapture(t *testing.T) {
	ctx, stream, x := urgent(t)
	allocate := func() error {
		made, err := NewBuffer[uint32](ctx, 1)
		if err == nil {
			err = made.Close()
		}
		return err
	}
	for mode, forbidden := range map[CaptureMode][2]bool{
		CaptureThreadLocal: {true, false}, CaptureGlobal: {true, true}, CaptureRelaxed: {false, false},
	} {
		var here, elsewhere error
		graph := must(stream.CaptureIn(mode, func(stream *Stream) error {
			here = allocate()
			outcome := make(chan error)
			go func() { outcome <- allocate() }()
			elsewhere = <-outcome
			return x.Fill(stream, 2)
		}))
		got := [2]bool{errors.Is(here, ErrInvalidCapture), errors.Is(elsewhere, ErrInvalidCapture)}
		if got != forbidden {
			t.Errorf("mode %v: %v and %v", mode, here, elsewhere)
		}
		ok(t, graph.Launch(stream))
		ok(t, graph.Close())
	}
	_, err := stream.CaptureIn(7, bytesOn(x, 1))
	refused(t, err, ErrInvalidValue)
}

func TestAGraphIsUpdatedOrStays(t *testing.T) {
	ctx, stream, x := urgent(t)
	before, _, _ := ctx.Memory()
	y, first := must(NewBuffer[float32](ctx, large)), must(NewBuffer[float32](ctx, large))
	second := must(NewBuffer[float32](ctx, large))
	ok(t, second.Fill(stream, 2))
	copyOf := func(source *Buffer[float32]) func(*Stream) error {
		return func(stream *Stream) error { return y.CopyFrom(stream, source) }
	}
	ok(t, first.Fill(stream, 1))
	graph := must(stream.Capture(copyOf(first)))
	ok(t, graph.Launch(stream))
	ok(t, first.Close())
	if !must(graph.Update(stream, copyOf(second))) || lost(ctx, before) != 2 {
		t.Errorf("%d buffers are there; the graph needs two", lost(ctx, before))
	}
	ok(t, second.Close())
	nothing := func(*Stream) error { return nil }
	if must(graph.Update(stream, bytesOn(x, 9))) || must(graph.UpdateIn(CaptureRelaxed, stream, nothing)) {
		t.Error("a graph became another one")
	}
	own := errors.New("the caller's own")
	if _, err := graph.Update(stream, func(*Stream) error { return own }); err != own {
		t.Errorf("got %v", err)
	}
	side, fork := must(ctx.NewStream()), must(ctx.NewEvent())
	ends(t, side)
	ends(t, fork)
	_, err := graph.Update(stream, func(stream *Stream) error {
		ok(t, fork.Record(stream))
		ok(t, side.Wait(fork))
		return x.Fill(side, 1)
	})
	refused(t, err, ErrInvalidCapture) // what never joins is another mistake
	_, foreign, _ := urgent(t)
	_, err = graph.Update(foreign, nothing)
	refused(t, err, ErrInvalidHandle)
	ok(t, graph.Launch(stream))
	last := make([]float32, 1)
	ok(t, y.Read(stream, large-1, last))
	near(t, last, 9.55146e-38)
	ok(t, graph.Close())
	ok(t, y.Close())
	_, err = graph.Update(stream, bytesOn(x, 9))
	refused(t, err, ErrInvalidHandle)
	if left := lost(ctx, before); left != 0 {
		t.Errorf("%d buffers did not come back", left)
	}
}

func TestPeersOnOneDevice(t *testing.T) {
	ctx, stream, x := urgent(t)
	peer, elsewhere, there := urgent(t)
	if must(ctx.CanAccess(peer)) {
		t.Error("one device is no peer of itself")
	}
	refused(t, ctx.EnablePeer(peer), ErrInvalidDevice)
	ok(t, there.Fill(elsewhere, 6))
	ok(t, elsewhere.Synchronize())
	for _, on := range []*Stream{stream, elsewhere} {
		ok(t, x.Fill(stream, 0))
		ok(t, stream.Synchronize())
		ok(t, x.CopyFromPeer(on, there))
		ok(t, on.Synchronize())
		if got := must(x.Values(stream)); got[served-1] != 0x06060606 {
			t.Errorf("got %x", got[served-1])
		}
	}
	_, third, _ := urgent(t)
	refused(t, x.CopyFromPeer(third, there), ErrInvalidHandle)
	refused(t, x.CopyFromPeer(stream, empty[uint32](t, peer, 1)), ErrInvalidShape)
	refused(t, x.CopyFromPeer(stream, nil), ErrInvalidNull)
}

// What ends under a capture of another context, which forbids freeing, is freed with what ends next.
func TestTheEndUnderACaptureElsewhere(t *testing.T) {
	ctx, _, _ := urgent(t)
	_, elsewhere, y := urgent(t)
	before, _, _ := ctx.Memory()
	x, small := must(NewBuffer[float32](ctx, large)), must(NewBuffer[float32](ctx, 1))
	graph := must(elsewhere.Capture(func(stream *Stream) error {
		ok(t, x.Close())
		return y.Fill(stream, 0)
	}))
	ends(t, graph)
	if lost(ctx, before) != 1 {
		t.Error("it was freed under a capture")
	}
	ok(t, small.Close())
	if left := lost(ctx, before); left != 0 {
		t.Errorf("%d buffers did not come back", left)
	}
}

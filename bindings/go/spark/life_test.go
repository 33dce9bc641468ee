// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"io"
	"math"
	"math/rand"
	"runtime"
	"testing"
	"time"
)

const large = 4 << 20 // floats: 16 MiB, which no bookkeeping of a driver hides

// lost says how many buffers of that size are missing from the free memory of before.
func lost(ctx *Context, before uint64) int {
	after, _, err := ctx.Memory()
	must(after, err)
	return int((int64(before)-int64(after))/(4*large/2)+1) / 2
}

func TestMemoryComesBack(t *testing.T) {
	ctx, stream := device(t)
	before, _, err := ctx.Memory()
	ok(t, err)
	for i := 0; i < 5; i++ {
		x := must(NewBuffer[float32](ctx, large))
		if lost(ctx, before) != 1 {
			t.Fatal("a buffer takes no memory, or an earlier one still does")
		}
		graph := must(stream.Capture(func(stream *Stream) error { return x.Fill(stream, 1) }))
		ok(t, graph.Launch(stream))
		ok(t, x.Close())
		ok(t, graph.Close())
		if _, err := filled(stream, large, func(*Buffer[float32]) error { return ErrInvalid }); err != ErrInvalid {
			t.Errorf("got %v", err)
		}
	}
	if left := lost(ctx, before); left != 0 {
		t.Errorf("%d buffers did not come back", left)
	}
}

// Whatever is not closed is freed when nothing leads to it any more.
func TestTheCollectorFrees(t *testing.T) {
	ctx, stream := device(t)
	before, _, _ := ctx.Memory()
	func() {
		other := must(ctx.NewStream())
		x := must(NewBuffer[float32](ctx, large))
		ok(t, x.Fill(other, 0))
		ok(t, other.Synchronize())
		view := x.View(1, 64)
		y := must(NewBuffer[float32](ctx, large))
		graph := must(stream.Capture(func(stream *Stream) error { return y.CopyFrom(stream, x) }))
		runtime.GC()
		ok(t, Rmsnorm{X: view, Y: view, Eps: F32(0)}.Launch(stream)) // x lives while a view of it does
		ok(t, graph.Launch(stream))
	}()
	for i := 0; i < 200 && lost(ctx, before) != 0; i++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if left := lost(ctx, before); left != 0 {
		t.Errorf("%d buffers did not come back", left)
	}
}

func TestAGraphKeepsWhatItUses(t *testing.T) {
	ctx, stream := device(t)
	other := must(NewContext(0)) // to ask when the first one is closed
	ends(t, other)
	before, _, _ := other.Memory()
	y := must(NewBuffer[float32](ctx, large))
	x := must(NewBuffer[float32](ctx, large))
	ok(t, x.Fill(stream, 0x40))
	unrelated := must(NewBuffer[float32](ctx, large))
	side := must(ctx.NewStream())
	fork, join := must(ctx.NewEvent()), must(ctx.NewEvent())
	graph := must(stream.Capture(func(stream *Stream) error {
		ok(t, unrelated.Close()) // freed when the capture is over
		ok(t, fork.Record(stream))
		ok(t, side.Wait(fork))
		ok(t, y.CopyFrom(side, x)) // recorded too: the side stream has joined
		ok(t, join.Record(side))
		return stream.Wait(join)
	}))
	for _, thing := range []io.Closer{x, side, fork, join, ctx} {
		ok(t, thing.Close())
	}
	ok(t, graph.Launch(stream))
	last := make([]float32, 1)
	ok(t, y.Read(stream, large-1, last))
	near(t, last, float64(math.Float32frombits(0x40404040)))
	ok(t, y.Close())
	if left := lost(other, before); left != 2 {
		t.Errorf("%d buffers are there; the graph needs two", left)
	}
	ok(t, graph.Launch(stream)) // into memory that has no other owner any more
	ok(t, graph.Close())
	if left := lost(other, before); left != 0 {
		t.Errorf("%d buffers did not come back", left)
	}
}

func TestThingsEndInAnyOrder(t *testing.T) {
	for i := 0; i < 20; i++ {
		ctx := must(NewContext(0))
		stream := must(ctx.NewStream())
		y := must(ZeroedBuffer[float32](stream, 64))
		graph := must(stream.Capture(func(stream *Stream) error { return y.Fill(stream, 0) }))
		ok(t, Rmsnorm{X: y.View(1, 64), Y: y.View(1, 64), Eps: F32(0)}.Launch(stream))
		ok(t, graph.Launch(stream))
		event := must(ctx.NewEvent())
		ok(t, event.Record(stream))
		things := []io.Closer{ctx, stream, y, graph, event}
		rand.Shuffle(len(things), func(a, b int) { things[a], things[b] = things[b], things[a] })
		for _, thing := range things {
			ok(t, thing.Close())
		}
	}
}

func TestACaptureThatFailsEnds(t *testing.T) {
	_, stream := device(t)
	x := put(t, stream, float32(0), 0, 0, 0)
	own := errors.New("the caller's own")
	for _, record := range []func(stream *Stream) error{
		func(stream *Stream) error { return x.Write(stream, 0, []float32{1}) },
		func(stream *Stream) error { return stream.Synchronize() },
		func(stream *Stream) error { _, err := stream.Capture(clearing(x)); return err },
	} {
		_, err := stream.Capture(record)
		refused(t, err, ErrInvalid)
	}
	if _, err := stream.Capture(func(*Stream) error { return own }); err != own {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if recover() != own {
				t.Error("the panic did not pass")
			}
		}()
		stream.Capture(func(*Stream) error { panic(own) })
	}()
	ok(t, x.Write(stream, 0, []float32{1}))
	graph := must(stream.Capture(clearing(x)))
	ends(t, graph)
	ok(t, graph.Launch(stream))
	if got := must(x.Values(stream)); got[0] != 0 {
		t.Errorf("got %v", got)
	}
}

func clearing(x *Buffer[float32]) func(*Stream) error {
	return func(stream *Stream) error { return x.Fill(stream, 0) }
}

func TestACaptureLoadsNoCode(t *testing.T) {
	ctx, stream := device(t)
	x := put(t, stream, float32(1), 2, 3, 4)
	call := Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: F32(1)}
	if graph, err := stream.Capture(call.Launch); err == nil {
		ends(t, graph)
	} else {
		refused(t, err, ErrNotPrepared)
	}
	must(call.Prepare(ctx))
	ends(t, must(stream.Capture(call.Launch)))
}

func TestWorkspaces(t *testing.T) {
	ctx, stream := device(t)
	const m, n, k = 128, 128, 2048 // few tiles, long sums: the library splits the sums over the device
	a, b := must(ZeroedBuffer[BF16](stream, m*k)), must(ZeroedBuffer[BF16](stream, n*k))
	d := empty[float32](t, ctx, m*n)
	ends(t, a)
	ends(t, b)
	call := Gemm{A: a.View(m, k), B: b.View(n, k), D: d.View(m, n)}
	needed := must(call.Query(ctx)).WorkspaceSize
	if needed == 0 {
		t.Fatal("give this test a product whose kernel needs a workspace")
	}
	refused(t, call.Launch(stream), ErrWorkspaceTooSmall)
	for size, status := range map[int]Status{needed - 1: ErrWorkspaceTooSmall, needed: StatusOK} {
		call.Workspace = must(NewWorkspace(stream, size))
		ends(t, call.Workspace)
		if err := call.Launch(stream); status == StatusOK {
			ok(t, err)
		} else {
			refused(t, err, status)
		}
	}
	if got := must(d.Values(stream)); got[m*n-1] != 0 {
		t.Errorf("got %v", got[m*n-1])
	}
}

// Beside other software: its streams and memory as integers.
func TestForeignStreamsAndMemory(t *testing.T) {
	ctx, stream := device(t)
	theirs := put(t, stream, float32(5), 5, 5, 5)
	for _, raw := range []uint64{stream.Raw(), must(stream.Native()), 0} {
		wrapped := must(ctx.WrapStream(raw))
		if must(wrapped.Native()) != must(stream.Native()) && raw != 0 {
			t.Error("another stream of the driver's")
		}
		y := TensorAt[float32](theirs.Address(), 4, 0, []int{1, 4}, nil)
		ok(t, Rmsnorm{X: y, Y: y, Eps: F32(0)}.Launch(wrapped))
		near(t, must(theirs.Values(wrapped)), 1, 1, 1, 1)
		if !must(wrapped.Done()) {
			t.Error("work is left")
		}
		ok(t, wrapped.Close())
	}
	ok(t, stream.Synchronize()) // still there
	refused(t, TensorAt[float32](theirs.Address(), 4, 0, []int{5}, nil).Err(), ErrInvalidBounds)
}

func TestEvents(t *testing.T) {
	ctx, stream := device(t)
	begin, end := must(ctx.NewEvent()), must(ctx.NewEvent())
	ends(t, begin)
	ends(t, end)
	x := empty[float32](t, ctx, 1<<10)
	ok(t, begin.Record(stream))
	ok(t, x.Fill(stream, 1))
	ok(t, end.Record(stream))
	ok(t, end.Synchronize())
	if number := must(end.Native()); number == 0 || number == end.Raw() {
		t.Errorf("the driver's event is %#x", number)
	}
	if took := must(end.Since(begin)); took < 0 || !must(end.Done()) {
		t.Errorf("it took %v", took)
	}
}

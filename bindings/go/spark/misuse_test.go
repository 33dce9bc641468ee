// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestErrorsNameTheField(t *testing.T) {
	ctx, stream := device(t)
	a, b, d := empty[BF16](t, ctx, 64), empty[F16](t, ctx, 64), empty[float32](t, ctx, 64)
	err := Gemm{A: a.View(8, 8), B: b.View(8, 8), D: d.View(8, 8)}.Launch(stream)
	said := refused(t, err, ErrInvalidDtype)
	if said.Op != "gemm" || said.Field != "b" || !strings.HasPrefix(err.Error(), "SPARK_ERR_INVALID_DTYPE: ") {
		t.Errorf("the error is %#v", said)
	}
	var status Status
	if !errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrInvalidShape) ||
		!errors.As(err, &status) || status != ErrInvalidDtype {
		t.Error("the status does not match as it should")
	}
	if said := refused(t, Gemm{}.Launch(stream), ErrInvalidNull); said.Field != "a" {
		t.Errorf("an absent argument: %#v", said)
	}
}

func TestLayoutsThatAreNotTaken(t *testing.T) {
	ctx, stream := device(t)
	x := empty[float32](t, ctx, 64)
	gaps := x.Strided(0, []int{4, 4}, []int{16, 2})
	said := refused(t, Rmsnorm{X: gaps, Y: x.View(4, 4), Eps: F32(0)}.Launch(stream), ErrUnsupportedLayout)
	if said.Field != "x" {
		t.Errorf("the error is %#v", said)
	}
	overlap := x.Strided(2, []int{1, 8}, []int{8, 1})
	refused(t, Rmsnorm{X: x.View(1, 8), Y: overlap, Eps: F32(0)}.Launch(stream), ErrInvalidOverlap)
	refused(t, Rmsnorm{X: x.View(1, 8), Y: x.View(1, 9), Eps: F32(0)}.Launch(stream), ErrInvalidShape)
}

func TestViewsThatCannotBe(t *testing.T) {
	ctx, stream := device(t)
	buffer := empty[float32](t, ctx, 100)
	fp4 := empty[E2M1x2](t, ctx, 8)
	for name, tried := range map[string]struct {
		view   Tensor
		status Status
	}{
		"too large":          {buffer.View(10, 11), ErrInvalidBounds},
		"beyond the end":     {buffer.Strided(10, []int{10, 1}, []int{10, 1}), ErrInvalidBounds},
		"beyond all numbers": {buffer.Strided(0, []int{math.MaxInt, 3}, []int{math.MaxInt, 1}), ErrInvalidBounds},
		"far offset":         {buffer.Strided(math.MaxInt, []int{1}, []int{1}), ErrInvalidBounds},
		"negative offset":    {buffer.Strided(-1, []int{1}, []int{1}), ErrInvalidBounds},
		"no dimension":       {buffer.View(), ErrInvalidShape},
		"seven dimensions":   {buffer.View(1, 1, 1, 1, 1, 1, 1), ErrInvalidShape},
		"negative size":      {buffer.View(2, -2), ErrInvalidShape},
		"few strides":        {buffer.Strided(0, []int{2, 2}, []int{1}), ErrInvalidStride},
		"no strides":         {buffer.Strided(0, []int{2}, nil), ErrInvalidStride},
		"negative stride":    {buffer.Strided(8, []int{2}, []int{-1}), ErrInvalidStride},
		"only zero strides":  {buffer.Strided(0, []int{2, 2}, []int{0, 0}), ErrInvalidStride},
		"half a byte":        {fp4.Strided(3, []int{2}, []int{1}), ErrInvalidAlignment},
		"of no buffer":       {(*Buffer[float32])(nil).View(1), ErrInvalidNull},
	} {
		refused(t, tried.view.Err(), tried.status)
		said := refused(t, Add{A: tried.view, B: buffer.View(100), Y: buffer.View(100)}.Launch(stream), tried.status)
		if said.Op != "add" || said.Field != "a" {
			t.Errorf("%s: the error of the call is %#v", name, said)
		}
	}
	for _, fine := range []Tensor{buffer.View(10, 10), buffer.Strided(9, []int{10, 1}, []int{10, 1}), buffer.View(0, 7),
		buffer.Strided(0, []int{3, 4}, []int{0, 1}), fp4.View(16)} {
		ok(t, fine.Err())
	}
}

func TestUseAfterClose(t *testing.T) {
	ctx, stream := device(t)
	x, y := empty[float32](t, ctx, 64), empty[float32](t, ctx, 64)
	before, after := x.View(1, 64), y.View(1, 64)
	workspace := must(NewWorkspace(stream, 64))
	ok(t, workspace.Close())
	said := refused(t, Rmsnorm{X: before, Y: after, Workspace: workspace, Eps: F32(0)}.Launch(stream), ErrInvalidHandle)
	if said.Message != "the workspace is closed" {
		t.Errorf("the error is %#v", said)
	}
	ok(t, y.Close())
	ok(t, y.Close())
	said = refused(t, Rmsnorm{X: before, Y: after, Eps: F32(0)}.Launch(stream), ErrInvalidHandle)
	if said.Op != "rmsnorm" || said.Field != "y" {
		t.Errorf("the error is %#v", said)
	}
	_, err := Rmsnorm{X: before, Y: after, Eps: F32(0)}.Query(ctx)
	refused(t, err, ErrInvalidHandle)
	refused(t, y.View(1).Err(), ErrInvalidHandle)
	_, err = y.Values(stream)
	refused(t, err, ErrInvalidHandle)
	refused(t, y.Fill(stream, 0), ErrInvalidHandle)
	refused(t, x.CopyFrom(stream, y), ErrInvalidHandle)

	graph := must(stream.Capture(func(stream *Stream) error { return x.Fill(stream, 0) }))
	event := must(ctx.NewEvent())
	for _, thing := range []interface{ Close() error }{graph, event, stream, ctx, stream} {
		ok(t, thing.Close())
	}
	refused(t, graph.Launch(stream), ErrInvalidHandle)
	refused(t, event.Record(stream), ErrInvalidHandle)
	refused(t, event.Synchronize(), ErrInvalidHandle)
	refused(t, stream.Synchronize(), ErrInvalidHandle)
	refused(t, Rmsnorm{X: before, Y: before, Eps: F32(0)}.Launch(stream), ErrInvalidHandle)
	_, err = ctx.NewStream()
	refused(t, err, ErrInvalidHandle)
	_, _, err = ctx.Memory()
	refused(t, err, ErrInvalidHandle)
}

func TestNothingIsNoCrash(t *testing.T) {
	ctx, stream := device(t)
	x := empty[float32](t, ctx, 4)
	refused(t, Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: F32(0)}.Launch(nil), ErrInvalidNull)
	refused(t, Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: F32(0)}.Launch(new(Stream)), ErrInvalidHandle)
	call := Rmsnorm{X: x.View(1, 4), Y: x.View(1, 4), Eps: F32(0), Workspace: new(Workspace)}
	refused(t, call.Launch(stream), ErrInvalidHandle)
	_, err := NewBuffer[float32](nil, 4)
	refused(t, err, ErrInvalidNull)
	_, err = Rmsnorm{}.Query(nil)
	refused(t, err, ErrInvalidNull)
	refused(t, stream.Wait(nil), ErrInvalidNull)
	refused(t, x.CopyFrom(stream, nil), ErrInvalidNull)
	refused(t, new(Buffer[float32]).Fill(stream, 0), ErrInvalidNull)
	refused(t, new(Graph).Launch(stream), ErrInvalidHandle)
	var none *Event
	ok(t, none.Close())
	ok(t, new(Buffer[int8]).Close())
}

func TestTwoContextsDoNotMix(t *testing.T) {
	_, stream := device(t)
	other, elsewhere := device(t)
	mine, foreign := put(t, stream, float32(1), 2, 3, 4), put(t, elsewhere, float32(1), 2, 3, 4)
	said := refused(t, Rmsnorm{X: mine.View(1, 4), Y: foreign.View(1, 4), Eps: F32(0)}.Launch(stream), ErrInvalidHandle)
	if said.Field != "y" {
		t.Errorf("the error is %#v", said)
	}
	_, err := mine.Values(elsewhere)
	refused(t, err, ErrInvalidHandle)
	refused(t, mine.CopyFrom(stream, foreign), ErrInvalidHandle)
	event := must(other.NewEvent())
	ends(t, event)
	refused(t, event.Record(stream), ErrInvalidHandle)
	refused(t, stream.Wait(event), ErrInvalidHandle)
	workspace := must(NewWorkspace(elsewhere, 64))
	ends(t, workspace)
	call := Rmsnorm{X: mine.View(1, 4), Y: mine.View(1, 4), Eps: F32(0), Workspace: workspace}
	refused(t, call.Launch(stream), ErrInvalidHandle)
	_, err = NewContext(999)
	refused(t, err, ErrInvalidDevice)
}

func TestCopiesStayInside(t *testing.T) {
	ctx, stream := device(t)
	x := empty[int32](t, ctx, 4)
	refused(t, x.Write(stream, 3, []int32{1, 2}), ErrInvalidBounds)
	refused(t, x.Read(stream, -1, make([]int32, 1)), ErrInvalidBounds)
	refused(t, x.Read(stream, 5, nil), ErrInvalidBounds)
	refused(t, x.CopyFrom(stream, empty[int32](t, ctx, 5)), ErrInvalidShape)
	_, err := NewBuffer[int32](ctx, -1)
	refused(t, err, ErrInvalidValue)
	_, err = NewBuffer[int32](ctx, math.MaxInt)
	refused(t, err, ErrInvalidValue)
	none := empty[int32](t, ctx, 0)
	if values := must(none.Values(stream)); len(values) != 0 || none.Address() != 0 {
		t.Error("an empty buffer is not empty")
	}
}

func TestAnOfflineContext(t *testing.T) {
	ctx := must(NewOfflineContext(SM121))
	ends(t, ctx)
	if info := must(ctx.Device()); info.Arch != SM121 || info.Device != -1 {
		t.Errorf("its device is %+v", info)
	}
	_, err := ctx.NewStream()
	refused(t, err, ErrNoDevice)
	call := Embedding{Table: Planned[BF16](100, 64), IDs: Planned[int32](5), Y: Planned[BF16](5, 64), ZeroInvalid: true}
	if info := must(call.Query(ctx)); info.Kernel == "" {
		t.Errorf("Query says %+v", info)
	}
	_, err = NewOfflineContext(50)
	refused(t, err, ErrUnsupportedArch)
	if !errors.Is(err, ErrUnsupported) {
		t.Error("a reason is not of its category")
	}
	_, stream := device(t)
	refused(t, call.Launch(stream), ErrInvalidNull)
}

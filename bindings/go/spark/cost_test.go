// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector makes pools forget, and every call slower: nothing here holds with it.

package spark

import (
	"testing"
	"unsafe"

	baseline "libspark/internal"
)

// nothingToDo is a call that the library checks in full and then launches nothing for: what is left is its cost here.
func nothingToDo(b *testing.B) (Rmsnorm, *Stream) {
	ctx := must(NewContext(0))
	stream := must(ctx.NewStream())
	x := must(ZeroedBuffer[float32](stream, 64))
	b.Cleanup(func() {
		must(0, x.Close())
		must(0, stream.Close())
		must(0, ctx.Close())
	})
	return Rmsnorm{X: x.View(0, 64), Y: x.View(0, 64), Eps: F32(0)}, stream
}

func BenchmarkEmptyCallOfC(b *testing.B) {
	for i := 0; i < b.N; i++ {
		baseline.Nothing()
	}
}

func BenchmarkLaunch(b *testing.B) {
	call, stream := nothingToDo(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		must(0, call.Launch(stream))
	}
}

func BenchmarkLaunchInC(b *testing.B) {
	op, stream := nothingToDo(b)
	c := op.call()
	b.ResetTimer()
	if status := baseline.Launches(unsafe.Pointer(stream.ctx.raw), c.args(), stream.Raw(), b.N); status != 0 {
		b.Fatal(Status(status))
	}
}

func BenchmarkView(b *testing.B) {
	_, stream := nothingToDo(b)
	x := must(NewBuffer[float32](stream.ctx, 64))
	b.Cleanup(func() { must(0, x.Close()) })
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		x.View(1, 64)
	}
}

// A launch is on the path of every token: it allocates nothing.
func TestALaunchAllocatesNothing(t *testing.T) {
	ctx, stream := device(t)
	x := empty[float32](t, ctx, 64)
	call := Rmsnorm{X: x.View(0, 64), Y: x.View(0, 64), Eps: F32(0)}
	if found := testing.AllocsPerRun(100, func() { must(0, call.Launch(stream)) }); found > 0 {
		t.Errorf("%v allocations a launch", found)
	}
}

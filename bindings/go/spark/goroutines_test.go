// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"
)

const many = 16

// together runs work in many goroutines, started at once.
func together(work func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(many)
	done.Add(many)
	for i := 0; i < many; i++ {
		go func(i int) {
			defer done.Done()
			ready.Done()
			ready.Wait()
			work(i)
		}(i)
	}
	done.Wait()
}

func TestGoroutinesOnOneContext(t *testing.T) {
	ctx, stream := device(t)
	values, sum := make([]float32, 64), 0.0
	for i := range values {
		values[i] = float32(i + 1)
		sum += float64(i+1) * float64(i+1)
	}
	want := make([]float64, 64)
	for i := range want {
		want[i] = float64(i+1) / math.Sqrt(sum/64)
	}
	x := put(t, stream, values...)
	together(func(i int) {
		stream := must(ctx.NewStream())
		defer stream.Close()
		for round := 0; round < 4; round++ {
			y := must(ZeroedBuffer[float32](stream, 64))
			norm := Rmsnorm{X: x.View(1, 64), Y: y.View(1, 64), Eps: F32(0)}
			must(norm.Prepare(ctx))
			if i%2 == 0 {
				graph := must(stream.Capture(func(stream *Stream) error {
					time.Sleep(time.Millisecond) // others take the thread, if they can
					return norm.Launch(stream)
				}))
				defer graph.Close()
				must(0, graph.Launch(stream))
			} else {
				must(0, norm.Launch(stream))
			}
			near(t, must(y.Values(stream)), want...)
			must(0, y.Close())
		}
	})
}

func TestGoroutinesOnOneStream(t *testing.T) {
	_, stream := device(t)
	sums := put(t, stream, make([]float32, 64)...)
	one := make([]float32, 64)
	for i := range one {
		one[i] = 1
	}
	addend := put(t, stream, one...)
	together(func(int) {
		for round := 0; round < 8; round++ {
			must(0, Add{A: sums.View(64), B: addend.View(64), Y: sums.View(64)}.Launch(stream))
		}
	})
	if got := must(sums.Values(stream)); got[0] != many*8 || got[63] != many*8 {
		t.Errorf("got %v and %v", got[0], got[63])
	}
}

// Everything is closed while others use it: each call works or says that a thing is closed.
func TestClosingUnderWork(t *testing.T) {
	for round := 0; round < 10; round++ {
		ctx := must(NewContext(0))
		stream := must(ctx.NewStream())
		x := must(ZeroedBuffer[float32](stream, 64))
		graph := must(stream.Capture(func(stream *Stream) error { return x.Fill(stream, 0) }))
		closers := []interface{ Close() error }{x, graph, stream, ctx}
		together(func(i int) {
			if i < len(closers) {
				must(0, closers[i].Close())
				return
			}
			for _, err := range []error{
				graph.Launch(stream),
				Rmsnorm{X: x.View(1, 64), Y: x.View(1, 64), Eps: F32(0)}.Launch(stream),
				x.Write(stream, 0, []float32{1}),
				stream.Synchronize(),
			} {
				if err != nil && !errors.Is(err, ErrInvalidHandle) {
					t.Error(err)
				}
			}
		})
	}
}

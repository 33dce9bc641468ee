// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"errors"
	"io"
	"math"
	"testing"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused wants an error of this status; the error itself is for what else a test wants of it.
func refused(t *testing.T, err error, status Status) *Error {
	t.Helper()
	var said *Error
	if !errors.As(err, &said) {
		t.Fatalf("%v wanted; the outcome is %v", status, err)
	}
	if !errors.Is(err, status) || said.Message == "" {
		t.Errorf("%v wanted; the outcome is %v", status, err)
	}
	return said
}

func ends(t *testing.T, thing io.Closer) {
	t.Cleanup(func() { ok(t, thing.Close()) })
}

// device is a context and a stream for one test.
func device(t *testing.T) (*Context, *Stream) {
	ctx, err := NewContext(0)
	if err != nil {
		t.Fatalf("a device, or LIBSPARK_DRIVER=emu, is needed: %v", err)
	}
	ends(t, ctx)
	stream := must(ctx.NewStream())
	ends(t, stream)
	return ctx, stream
}

func put[T Element](t *testing.T, stream *Stream, values ...T) *Buffer[T] {
	made := must(BufferOf(stream, values))
	ends(t, made)
	return made
}

func empty[T Element](t *testing.T, ctx *Context, length int) *Buffer[T] {
	made := must(NewBuffer[T](ctx, length))
	ends(t, made)
	return made
}

func bf16(values ...float32) []BF16 {
	made := make([]BF16, len(values))
	for i, value := range values {
		made[i] = ToBF16(value)
	}
	return made
}

// near compares with what was computed here, in double precision.
func near(t *testing.T, got []float32, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values; %d wanted", len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) <= 1e-5*math.Max(1, math.Abs(want[i]))) {
			t.Errorf("value %d is %v; %v wanted", i, got[i], want[i])
		}
	}
}

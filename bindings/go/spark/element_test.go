// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"testing"
)

func TestHalfPrecisionRoundTrips(t *testing.T) {
	for bits := 0; bits < 1<<16; bits++ {
		h, b := F16(bits), BF16(bits)
		if x := h.Float32(); x == x && ToF16(x) != h {
			t.Fatalf("F16 %04x is %v, and back %04x", bits, x, ToF16(x))
		}
		if x := b.Float32(); x == x && ToBF16(x) != b {
			t.Fatalf("BF16 %04x is %v, and back %04x", bits, x, ToBF16(x))
		}
	}
}

func TestHalfPrecisionRounds(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, tried := range []struct {
		value float32
		f16   F16
		bf16  BF16
	}{
		{1, 0x3c00, 0x3f80},
		{-2, 0xc000, 0xc000},
		{1 + 1.0/2048, 0x3c00, 0x3f80},          // half-way, to even
		{1 + 3.0/2048, 0x3c02, 0x3f80},          // half-way, to even
		{1 + 1.0/256 + 1.0/128, 0x3c0c, 0x3f82}, // half-way, to even in BF16
		{65519, 0x7bff, 0x4780},
		{65520, 0x7c00, 0x4780},
		{inf, 0x7c00, 0x7f80},
		{nan, 0x7e00, 0x7fc0},
		{1.0 / (1 << 25), 0, 0x3300},
	} {
		if got := ToF16(tried.value); got != tried.f16 {
			t.Errorf("F16 of %v is %04x; %04x wanted", tried.value, got, tried.f16)
		}
		if got := ToBF16(tried.value); got != tried.bf16 {
			t.Errorf("BF16 of %v is %04x; %04x wanted", tried.value, got, tried.bf16)
		}
	}
}

// described is what this package and the library know of a type.
type described struct {
	element
	view Tensor
}

func describedAs[T Element]() described { return described{elementOf[T](), Planned[T](4)} }

func TestEveryElementHasItsDtypeAndWidth(t *testing.T) {
	listed := map[Dtype]bool{DtypeDEVPTR: true}
	for _, row := range everyElement {
		want, found := row.want, row.found
		listed[want] = true
		if found.view.Dtype() != want || found.view.Err() != nil {
			t.Errorf("%v instead of %v, %v", found.view.Dtype(), want, found.view.Err())
		}
		if want.Bits() == 0 || 8*found.size != want.Bits()*found.per {
			t.Errorf("%v has %d bits, and here %d bytes for %d", want, want.Bits(), found.size, found.per)
		}
	}
	for dtype := Dtype(0); dtype < 64; dtype++ {
		if (dtype.Bits() != 0) != listed[dtype] {
			t.Errorf("%v has %d bits, and no type of its own", dtype, dtype.Bits())
		}
	}
}

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

func TestEveryElementHasItsDtype(t *testing.T) {
	for want, view := range map[Dtype]Tensor{
		DtypeF32: Planned[float32](1), DtypeF64: Planned[float64](1), DtypeI8: Planned[int8](1), DtypeU8: Planned[uint8](1),
		DtypeI32: Planned[int32](1), DtypeU32: Planned[uint32](1), DtypeI64: Planned[int64](1), DtypeU64: Planned[uint64](1),
		DtypeF16: Planned[F16](1), DtypeBF16: Planned[BF16](1), DtypeE4M3: Planned[E4M3](1), DtypeE5M2: Planned[E5M2](1),
		DtypeUE8M0: Planned[UE8M0](1), DtypeUE4M3: Planned[UE4M3](1), DtypeBOOL8: Planned[Bool8](1),
		DtypeTF32: Planned[TF32](1), DtypeE2M1: Planned[E2M1x2](1), DtypeI4: Planned[I4x2](1), DtypeU4: Planned[U4x2](1),
		DtypeE2M3: Planned[E2M3x4](1), DtypeE3M2: Planned[E3M2x4](1),
	} {
		if view.Dtype() != want || view.Err() != nil {
			t.Errorf("%v instead of %v, %v", view.Dtype(), want, view.Err())
		}
	}
}

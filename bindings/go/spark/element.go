// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"unsafe"
)

// Element is what a buffer may hold. Device addresses are none of them: whoever could write those from the host could
// make a kernel follow them anywhere.
type Element interface {
	float32 | float64 | int8 | uint8 | int32 | uint32 | int64 | uint64 | F16 | BF16 | E4M3 | E5M2 | UE8M0 | UE4M3 |
		Bool8 | TF32 | E2M1x2 | I4x2 | U4x2 | NF4x2 | E2M3x4 | E3M2x4
}

type (
	F16    uint16   // IEEE half precision, as bits
	BF16   uint16   // the upper half of a float32, as bits
	E4M3   uint8    // FP8 with four exponent bits: largest 448, no infinity
	E5M2   uint8    // FP8 with five exponent bits: largest 57344
	UE8M0  uint8    // a power of two, as a scale
	UE4M3  uint8    // E4M3 used as a scale, never negative
	Bool8  uint8    // one byte, 0 or 1
	TF32   uint32   // the bits of a float32, rounded to TF32 when read
	E2M1x2 uint8    // two FP4 numbers, low nibble first
	I4x2   uint8    // two signed integers of four bits, low nibble first
	U4x2   uint8    // two unsigned integers of four bits, low nibble first
	NF4x2  uint8    // two places in NF4's table, high nibble first
	E2M3x4 [3]uint8 // four FP6 numbers with two exponent bits in three bytes, low bits first
	E3M2x4 [3]uint8 // four FP6 numbers with three exponent bits in three bytes, low bits first
)

// element is what the library must know of a type: per elements of a tensor in size bytes.
type element struct {
	dtype     Dtype
	per, size int
}

func elementOf[T Element]() element {
	var one T
	dtype, per := dtypeOf(any(one))
	return element{dtype, per, int(unsafe.Sizeof(one))}
}

func dtypeOf(one any) (Dtype, int) {
	switch one.(type) {
	case float32:
		return DtypeF32, 1
	case float64:
		return DtypeF64, 1
	case int8:
		return DtypeI8, 1
	case uint8:
		return DtypeU8, 1
	case int32:
		return DtypeI32, 1
	case uint32:
		return DtypeU32, 1
	case int64:
		return DtypeI64, 1
	case uint64:
		return DtypeU64, 1
	case F16:
		return DtypeF16, 1
	case BF16:
		return DtypeBF16, 1
	case E4M3:
		return DtypeE4M3, 1
	case E5M2:
		return DtypeE5M2, 1
	case UE8M0:
		return DtypeUE8M0, 1
	case UE4M3:
		return DtypeUE4M3, 1
	case Bool8:
		return DtypeBOOL8, 1
	case TF32:
		return DtypeTF32, 1
	case E2M1x2:
		return DtypeE2M1, 2
	case I4x2:
		return DtypeI4, 2
	case U4x2:
		return DtypeU4, 2
	case NF4x2:
		return DtypeNF4, 2
	case E2M3x4:
		return DtypeE2M3, 4
	case E3M2x4:
		return DtypeE3M2, 4
	}
	return DtypeNONE, 1
}

// ToBF16 rounds to nearest even; NaN stays NaN.
func ToBF16(value float32) BF16 {
	bits := math.Float32bits(value)
	if value != value {
		return BF16(bits>>16 | 0x40)
	}
	return BF16((uint64(bits) + 0x7fff + uint64(bits>>16&1)) >> 16)
}

// Float32 is exact.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// ToF16 rounds to nearest even; beyond the largest it is infinity, NaN stays NaN.
func ToF16(value float32) F16 {
	sign := F16(math.Float32bits(value) >> 16 & 0x8000)
	magnitude := math.Float32bits(value) &^ (1 << 31)
	switch {
	case value != value:
		return sign | 0x7e00
	case math.Float32frombits(magnitude) >= 65520:
		return sign | 0x7c00
	}
	// Adding a power of two whose last place is half precision's last place there rounds, to nearest even.
	exponent := magnitude >> 23
	if exponent < 113 {
		exponent = 113
	}
	anchor := math.Float32frombits((exponent + 13) << 23)
	steps := math.Float32bits(math.Float32frombits(magnitude)+anchor) - math.Float32bits(anchor)
	return sign | F16((exponent-113)<<10+steps)
}

// Float32 is exact.
func (h F16) Float32() float32 {
	exponent, fraction := uint32(h)>>10&31, uint32(h)&0x3ff
	var magnitude float32
	switch exponent {
	case 0:
		magnitude = float32(fraction) / (1 << 24)
	case 31:
		magnitude = math.Float32frombits(0x7f800000 | fraction<<13)
	default:
		magnitude = math.Float32frombits((exponent+112)<<23 | fraction<<13)
	}
	return math.Float32frombits(uint32(h&0x8000)<<16 | math.Float32bits(magnitude))
}

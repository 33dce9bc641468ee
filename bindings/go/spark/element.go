// SPDX-License-Identifier: Apache-2.0

package spark

import (
	"math"
	"unsafe"
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

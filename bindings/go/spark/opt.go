// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

// Scalar is what an argument that is no tensor may be.
type Scalar interface {
	float32 | int32 | uint32 | int64 | uint64
}

// Opt is a scalar that may be absent, which its zero value is: then it has its default, which need not be 0. F32(0) is
// 0. Where no default is right for every model (Eps of the norms), a call without it is an ErrInvalidNull.
type Opt[T Scalar] struct {
	value T
	given bool
}

// F32 gives a number: Alpha: spark.F32(2).
func F32(value float32) Opt[float32] { return Opt[float32]{value, true} }

// I32 gives a number.
func I32(value int32) Opt[int32] { return Opt[int32]{value, true} }

// U32 gives a number.
func U32(value uint32) Opt[uint32] { return Opt[uint32]{value, true} }

// I64 gives a number.
func I64(value int64) Opt[int64] { return Opt[int64]{value, true} }

// U64 gives a number.
func U64(value uint64) Opt[uint64] { return Opt[uint64]{value, true} }

// Get gives the number, and whether there is one.
func (o Opt[T]) Get() (T, bool) { return o.value, o.given }

// given is a scalar that counts even where it is 0, if it is there: bit tells the library.
func given[T Scalar](c *call, bit C.uint32_t, o Opt[T]) T {
	if o.given {
		c.head().given |= bit
	}
	return o.value
}

// required is a scalar that must be there.
func required[T Scalar](c *call, field string, o Opt[T]) T {
	if !o.given {
		c.missing(field)
	}
	return o.value
}

// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import (
	"math"
	"math/bits"
)

// Tensor is a view of device memory: up to six dimensions over a buffer, which it does not own. Its zero value is an
// argument that is absent.
type Tensor struct {
	raw    C.spark_tensor
	memory *memory
	beside [3]*memory // of scales, zero points and global scales
	err    *Error
}

// noRoom is the room of a tensor that has no memory yet: any shape will do.
const noRoom = -1

// View is the buffer from its beginning as a packed tensor of this shape.
func (b *Buffer[T]) View(shape ...int) Tensor { return b.over(0, shape, nil) }

// Strided is the buffer from element offset on, with strides in elements, outermost first.
func (b *Buffer[T]) Strided(offset int, shape, stride []int) Tensor {
	return b.over(offset, shape, append([]int{}, stride...))
}

func (b *Buffer[T]) over(offset int, shape, stride []int) Tensor {
	if err := acquire(b.thing()); err != nil {
		return Tensor{err: err.(*Error)}
	}
	defer release(b.memory)
	view := describe(elementOf[T](), b.memory.address, b.length, offset, shape, stride)
	view.memory = b.memory
	return view
}

// Planned is a packed tensor without memory, for Query, Explain, Kernels and Prepare. A launch refuses it.
func Planned[T Element](shape ...int) Tensor {
	return describe(elementOf[T](), 0, noRoom, 0, shape, nil)
}

// PlannedStrided is Planned with strides.
func PlannedStrided[T Element](shape, stride []int) Tensor {
	return describe(elementOf[T](), 0, noRoom, 0, shape, append([]int{}, stride...))
}

// TensorAt is a tensor over memory of other software: length values at a device address. They must belong to the
// context that the tensor is used in and live until the work is done; a graph does not keep them. No strides: packed.
func TensorAt[T Element](address uint64, length, offset int, shape, stride []int) Tensor {
	return describe(elementOf[T](), C.spark_devptr(address), length, offset, shape, stride)
}

// Err says why the view cannot be, or nil. A call with such a view gives the same error.
func (t Tensor) Err() error {
	if t.err == nil {
		return nil
	}
	return t.err
}

// Dtype is the type of the elements.
func (t Tensor) Dtype() Dtype { return Dtype(t.raw.dtype) }

// Shape gives the sizes, outermost first.
func (t Tensor) Shape() []int {
	shape := make([]int, t.raw.ndim)
	for i := range shape {
		shape[i] = int(t.raw.shape[i])
	}
	return shape
}

// describe is a tensor over room values at an address; strides nil means packed.
func describe(kind element, address C.spark_devptr, room, offset int, shape, stride []int) Tensor {
	if err := refusal(kind, room, offset, shape, stride); err != nil {
		return Tensor{err: err}
	}
	raw := C.spark_tensor{dtype: C.spark_dtype(kind.dtype), ndim: C.uint32_t(len(shape))}
	if room != noRoom {
		skipped := offset / kind.per
		raw.data = address + C.spark_devptr(skipped*kind.size)
		raw.size_bytes = C.uint64_t((room - skipped) * kind.size)
	}
	for i, size := range shape {
		raw.shape[i] = C.int64_t(size)
		if stride != nil {
			raw.stride[i] = C.int64_t(stride[i])
		}
	}
	return Tensor{raw: raw}
}

// refusal says what is wrong with a view, or nil.
func refusal(kind element, room, offset int, shape, stride []int) *Error {
	if len(shape) < 1 || len(shape) > C.SPARK_MAX_NDIM {
		return refuse(ErrInvalidShape, "shape has %d dimensions; 1 to %d wanted", len(shape), C.SPARK_MAX_NDIM)
	}
	if stride != nil && len(stride) != len(shape) {
		return refuse(ErrInvalidStride, "%d strides for %d dimensions", len(stride), len(shape))
	}
	broadcast := stride != nil
	for i, size := range shape {
		if size < 0 {
			return refuse(ErrInvalidShape, "shape[%d] is %d; 0 or more wanted", i, size)
		}
		if stride != nil && stride[i] < 0 {
			return refuse(ErrInvalidStride, "stride[%d] is %d; 0 or more wanted", i, stride[i])
		}
		broadcast = broadcast && (stride[i] == 0)
	}
	if broadcast && reach(shape, nil) > 1 {
		return refuse(ErrInvalidStride, "all strides are 0, which would mean packed")
	}
	if offset%kind.per != 0 {
		return refuse(ErrInvalidAlignment, "offset is %d; a multiple of %d wanted", offset, kind.per)
	}
	if room == noRoom {
		return nil
	}
	elements := multiply(room, kind.per)
	if needed := reach(shape, stride); offset < 0 || offset > elements || needed > elements-offset {
		return refuse(ErrInvalidBounds, "shape and strides reach %d elements from element %d on; there are %d", needed,
			offset, elements)
	}
	return nil
}

// reach counts the elements from the first to the last, both counted; what overflows is the largest number.
func reach(shape, stride []int) int {
	last, step := 0, 1
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 0 {
			return 0
		}
		if stride != nil {
			step = stride[i]
		}
		last = add(last, multiply(shape[i]-1, step))
		step = multiply(step, shape[i])
	}
	return add(last, 1)
}

func multiply(a, b int) int {
	if high, low := bits.Mul64(uint64(a), uint64(b)); high == 0 && low <= math.MaxInt {
		return int(low)
	}
	return math.MaxInt
}

func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

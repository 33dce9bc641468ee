// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import "math"

// Quant says how the numbers of a quantised tensor are to be read: x = (q - ZeroPoint) * Scale * GlobalScale. What is
// left out is absent or packed. FieldDesc.Forms says which forms an operator reads.
type Quant struct {
	Scheme QuantScheme

	// With QuantBlock: the elements of each dimension of the tensor that share a scale, outermost first; 0 is all.
	Block []int

	// With QuantRecord: the format, and nothing else.
	Record Record

	// The scales: their type, and their memory from the first on. ScaleStride says how they lie, not the view.
	Scale Tensor

	// In scales, from block to block of each dimension of the tensor. None: packed.
	ScaleStride []int

	// With ScaleTiled128x4, Tile says which dimensions are a tile's rows and columns; both 0: the last two.
	ScaleLayout ScaleLayout
	Tile        [2]int

	// What is subtracted first; lies like the scales.
	ZeroPoint Tensor

	// One more factor, of float32, and its elements from one index of dimension 0 to the next; 0: one factor for all.
	GlobalScale  Tensor
	GlobalStride int
}

// Quantized says that the elements are read as q says.
func (t Tensor) Quantized(q Quant) Tensor {
	if t.err != nil {
		return t
	}
	for _, view := range []*Tensor{&q.Scale, &q.ZeroPoint, &q.GlobalScale} {
		if view.err != nil {
			return Tensor{err: view.err}
		}
	}
	if err := q.refusal(&t); err != nil {
		return Tensor{err: err}
	}
	raw := C.spark_quant{scheme: C.spark_quant_scheme(q.Scheme), scale_layout: C.spark_scale_layout(q.ScaleLayout),
		scale_dtype: q.Scale.raw.dtype, zero_dtype: q.ZeroPoint.raw.dtype, record: C.uint16_t(q.Record),
		tile: [2]C.uint8_t{C.uint8_t(q.Tile[0]), C.uint8_t(q.Tile[1])}, global_stride: C.int64_t(q.GlobalStride)}
	for i, size := range q.Block {
		raw.block[i] = C.uint16_t(size)
	}
	for i, step := range q.ScaleStride {
		raw.scale_stride[i] = C.int64_t(step)
	}
	raw.scale, raw.scale_bytes = q.Scale.place()
	raw.zero_point, raw.zero_bytes = q.ZeroPoint.place()
	raw.global_scale, _ = q.GlobalScale.place()
	t.raw.quant = raw
	t.beside = [3]*memory{q.Scale.memory, q.ZeroPoint.memory, q.GlobalScale.memory}
	return t
}

// Records says that the bytes are records of a quantised format, each with its scale inside.
func (t Tensor) Records(format Record) Tensor {
	return t.Quantized(Quant{Scheme: QuantRecord, Record: format})
}

// place is where the first element is, and how many bytes follow. To the library 0 bytes would be any number of them:
// what has no room has no address.
func (t *Tensor) place() (C.spark_devptr, C.uint64_t) {
	if t.raw.size_bytes == 0 {
		return 0, 0
	}
	return t.raw.data, t.raw.size_bytes
}

// refusal says what the C structure cannot hold, or what the library could not check, or nil.
func (q *Quant) refusal(t *Tensor) *Error {
	ndim := int(t.raw.ndim)
	if len(q.Block) != 0 && len(q.Block) != ndim {
		return refuse(ErrInvalidShape, "Quant.Block has %d numbers; one for each of %d dimensions wanted", len(q.Block), ndim)
	}
	if len(q.ScaleStride) != 0 && len(q.ScaleStride) != ndim {
		return refuse(ErrInvalidShape, "Quant.ScaleStride has %d numbers; one for each of %d dimensions wanted",
			len(q.ScaleStride), ndim)
	}
	for i, size := range q.Block {
		if size < 0 || size > math.MaxUint16 {
			return refuse(ErrInvalidValue, "Quant.Block[%d] is %d; 0 to %d wanted", i, size, math.MaxUint16)
		}
	}
	for i, dim := range q.Tile {
		if dim < 0 || dim >= C.SPARK_MAX_NDIM {
			return refuse(ErrInvalidValue, "Quant.Tile[%d] is %d; a dimension wanted", i, dim)
		}
	}
	if q.Record > math.MaxUint16 {
		return refuse(ErrInvalidValue, "Quant.Record is %d; a format wanted", q.Record)
	}
	return q.globals(t)
}

// globals checks the global scales, of which the C structure tells no size.
func (q *Quant) globals(t *Tensor) *Error {
	global := &q.GlobalScale.raw
	if global.dtype != C.SPARK_DTYPE_F32 && global.dtype != C.SPARK_DTYPE_NONE {
		return refuse(ErrInvalidDtype, "Quant.GlobalScale is %v; F32 wanted", Dtype(global.dtype))
	}
	if global.data == 0 || reach(t.Shape(), nil) == 0 || q.GlobalStride < 0 { // the library refuses what is negative
		return nil
	}
	there := int(global.size_bytes / 4)
	if read := add(multiply(int(t.raw.shape[0])-1, q.GlobalStride), 1); read > there {
		return refuse(ErrInvalidBounds, "Quant.GlobalScale has %d elements; %d are read", there, read)
	}
	return nil
}

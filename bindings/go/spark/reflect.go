// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

// OpDesc is an operator of the library that runs, which may be newer than this package and have more of them.
type OpDesc struct {
	Name   string // as in the C header: kv_append
	Doc    string // one sentence
	Family string // the folder of its definition and the page of its reference
	Number uint32 // for good
	Fields []FieldDesc
}

// FieldDesc is one argument of an operator.
type FieldDesc struct {
	Name     string // as in the C header
	Doc      string // one sentence
	Kind     Kind
	Shape    string  // of a tensor: "[B?, M, K]"
	Choices  string  // of an enumeration: "NONE=0 SILU=1"
	Dtypes   []Dtype // that a tensor may have
	Input    bool
	Output   bool // with Input: updated
	Optional bool
	Default  string // what a scalar is that is absent: "1", "1 / sqrt(D)"; "" is 0
	Required bool   // a scalar that has no default
	Forms    []QuantForm
}

// QuantForm is one way in which an argument may be quantised.
type QuantForm struct {
	Name        string // as in the reference: Q8_0
	Doc         string // one sentence
	Scheme      QuantScheme
	Dtypes      []Dtype // of the data
	ScaleDtypes []Dtype // none: no scale stands beside the data
	ZeroDtypes  []Dtype // none: there are no zero points
	Layouts     []ScaleLayout
	Block       []int // of the last dimensions, 0 = the whole; before these it is 1
	GlobalScale bool  // may be set

	// Of QuantRecord.
	Record                      Record
	RecordBytes, RecordElements int
}

// Ops describes all operators of the library.
func Ops() []OpDesc {
	ops := make([]OpDesc, C.spark_op_count())
	for i := range ops {
		op := C.spark_op_at(C.uint32_t(i))
		ops[i] = OpDesc{Name: C.GoString(op.name), Doc: C.GoString(op.doc), Family: C.GoString(op.family),
			Number: uint32(op.op)}
		for field := C.uint32_t(0); field < op.num_fields; field++ {
			ops[i].Fields = append(ops[i].Fields, fieldDesc(op.op, field))
		}
	}
	return ops
}

func fieldDesc(op, index C.uint32_t) FieldDesc {
	field := C.spark_op_field(op, index)
	desc := FieldDesc{
		Name:     C.GoString(field.name),
		Doc:      C.GoString(field.doc),
		Kind:     Kind(field.kind),
		Shape:    C.GoString(field.shape),
		Choices:  C.GoString(field.choices),
		Dtypes:   members[Dtype](field.dtype_mask),
		Input:    field.flags&C.SPARK_FIELD_IN != 0,
		Output:   field.flags&C.SPARK_FIELD_OUT != 0,
		Optional: field.flags&C.SPARK_FIELD_OPTIONAL != 0,
		Default:  C.GoString(field.default_text),
		Required: field.flags&C.SPARK_FIELD_REQUIRED != 0,
	}
	for i := C.uint32_t(0); i < field.num_forms; i++ {
		desc.Forms = append(desc.Forms, quantForm(C.spark_op_form(op, index, i)))
	}
	return desc
}

func quantForm(form *C.spark_quant_form) QuantForm {
	desc := QuantForm{
		Name:           C.GoString(form.name),
		Doc:            C.GoString(form.doc),
		Scheme:         QuantScheme(form.scheme),
		Dtypes:         members[Dtype](form.dtype_mask),
		ScaleDtypes:    members[Dtype](form.scale_dtype_mask),
		ZeroDtypes:     members[Dtype](form.zero_dtype_mask),
		Layouts:        members[ScaleLayout](C.uint64_t(form.layout_mask)),
		GlobalScale:    form.flags&C.SPARK_FORM_GLOBAL_SCALE != 0,
		Record:         Record(form.record),
		RecordBytes:    int(form.record_bytes),
		RecordElements: int(form.record_elements),
	}
	for i := 0; i < int(form.num_blocks) && i < len(form.block); i++ {
		desc.Block = append(desc.Block, int(form.block[i]))
	}
	return desc
}

// members gives the numbers whose bits are set.
func members[T ~uint32](mask C.uint64_t) []T {
	var found []T
	for bit := T(0); bit < 64; bit++ {
		if mask>>bit&1 != 0 {
			found = append(found, bit)
		}
	}
	return found
}

// Version is that of the library that runs: major * 10000 + minor * 100 + patch.
func Version() int { return int(C.spark_version()) }

// BuildInfo is a JSON object: version, abi, compiler, ptxas, archs, kernels.
func BuildInfo() string { return C.GoString(C.spark_build_info()) }

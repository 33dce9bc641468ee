// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import "unsafe"

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
}

// Ops describes all operators of the library.
func Ops() []OpDesc {
	ops := make([]OpDesc, C.spark_op_count())
	for i := range ops {
		op := C.spark_op_at(C.uint32_t(i))
		ops[i] = OpDesc{Name: C.GoString(op.name), Doc: C.GoString(op.doc), Family: C.GoString(op.family),
			Number: uint32(op.op)}
		for _, field := range fieldsOf(op) {
			ops[i].Fields = append(ops[i].Fields, fieldDesc(&field))
		}
	}
	return ops
}

func fieldsOf(op *C.spark_op_desc) []C.spark_field { return unsafe.Slice(op.fields, op.num_fields) }

func fieldDesc(field *C.spark_field) FieldDesc {
	desc := FieldDesc{
		Name:     C.GoString(field.name),
		Doc:      C.GoString(field.doc),
		Kind:     Kind(field.kind),
		Shape:    C.GoString(field.shape),
		Choices:  C.GoString(field.choices),
		Input:    field.flags&C.SPARK_FIELD_IN != 0,
		Output:   field.flags&C.SPARK_FIELD_OUT != 0,
		Optional: field.flags&C.SPARK_FIELD_OPTIONAL != 0,
	}
	for dtype := Dtype(0); dtype < 64; dtype++ {
		if field.dtype_mask>>dtype&1 != 0 {
			desc.Dtypes = append(desc.Dtypes, dtype)
		}
	}
	return desc
}

// Version is that of the library that runs: major * 10000 + minor * 100 + patch.
func Version() int { return int(C.spark_version()) }

// BuildInfo is a JSON object: version, abi, compiler, ptxas, archs, kernels.
func BuildInfo() string { return C.GoString(C.spark_build_info()) }

// SPDX-License-Identifier: Apache-2.0

package spark

// #include <spark.h>
import "C"

import "fmt"

// Error says why a call failed: a status to decide by, the operator's field that was wrong, a sentence to show.
type Error struct {
	Status     Status
	DriverCode int    // the driver's own number (CUresult); 0 if it was not involved
	Op         string // the operator whose arguments were refused
	Field      string // its field
	Message    string // which argument, the value found, the value wanted
}

// Error gives the status and the sentence.
func (e *Error) Error() string { return e.Status.String() + ": " + e.Message }

// Unwrap gives the status, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Status }

// String gives the name in the C header.
func (s Status) String() string { return C.GoString(C.spark_status_name(C.spark_status(s))) }

// Error gives the name in the C header.
func (s Status) Error() string { return s.String() }

// Is tells errors.Is that each reason is one of its category too: ErrInvalid or ErrUnsupported.
func (s Status) Is(target error) bool {
	return (target == ErrInvalid || target == ErrUnsupported) && s/1000 == target.(Status)/1000
}

// String gives the name in the C header.
func (d Dtype) String() string { return C.GoString(C.spark_dtype_name(C.spark_dtype(d))) }

// Bits is the width of an element; 0 for what the library does not know.
func (d Dtype) Bits() int { return int(C.spark_dtype_bits(C.spark_dtype(d))) }

// unnamed is how a number looks that only a newer library has a name for.
func unnamed(kind string, value uint32) string { return fmt.Sprintf("%s(%d)", kind, value) }

func refuse(status Status, format string, values ...any) *Error {
	return &Error{Status: status, Message: fmt.Sprintf(format, values...)}
}

// check makes one call of the library; what it says about a failure becomes the *Error.
func check(call func(err *C.spark_error) C.spark_status) error {
	said := C.spark_error{struct_size: C.sizeof_spark_error}
	if status := call(&said); status != C.SPARK_OK {
		return failure(status, &said)
	}
	return nil
}

func failure(status C.spark_status, said *C.spark_error) error {
	err := &Error{Status: Status(status), DriverCode: int(said.driver_code), Message: C.GoString(&said.message[0])}
	if op := C.spark_op_describe(said.op); op != nil {
		err.Op = C.GoString(op.name)
		if field := C.spark_op_field(said.op, said.field); field != nil {
			err.Field = C.GoString(field.name)
		}
	}
	return err
}

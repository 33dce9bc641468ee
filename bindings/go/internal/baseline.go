// SPDX-License-Identifier: Apache-2.0

// Package baseline is what the cost of a call is measured against: C without Go around it.
package baseline

// #cgo pkg-config: libspark
// #include <spark.h>
//
// static void nothing(void) {}
//
// static spark_status launches(void *ctx, const void *args, uint64_t stream, int count) {
//     spark_exec exec = {.struct_size = sizeof exec, .stream = stream};
//     spark_error err = {.struct_size = sizeof err};
//     spark_status status = SPARK_OK;
//     while (count-- > 0 && status == SPARK_OK) status = spark_op_launch(ctx, args, &exec, &err);
//     return status;
// }
import "C"

import "unsafe"

// Nothing calls a C function that does nothing.
func Nothing() { C.nothing() }

// Launches calls spark_op_launch again and again, and gives the last status.
func Launches(ctx, args unsafe.Pointer, stream uint64, count int) uint32 {
	return uint32(C.launches(ctx, args, C.uint64_t(stream), C.int(count)))
}

// SPDX-License-Identifier: Apache-2.0

// Package spark calls libspark: GPU kernels for language models.
//
// A Context stands for a device, a Stream for a queue of work on it, a Buffer for device memory. A Tensor is a view of
// a buffer: shape and strides. Each operator is a structure with the names of the C fields, and Launch enqueues it:
//
//	err := spark.Rmsnorm{X: x.View(4, 64), Y: y.View(4, 64), Eps: spark.F32(1e-5)}.Launch(stream)
//
// # What is left out
//
// A tensor that is left out is absent, and a scalar is 0. Where the default of a scalar is another number, or where it
// has none, the field is an Opt: left out it is the default (Alpha of Gemm: 1), F32(0) is 0. Without Eps, which has no
// default that is right for every model, a norm is refused.
//
// # Errors
//
// What the library refuses is an *Error with its sentence and the operator's field. errors.Is finds the reason in it
// (ErrInvalidShape) and the category: ErrInvalid is the caller's mistake, ErrUnsupported what this library does not
// do. A view that cannot be carries its error to the call that uses it.
//
// # Lifetime
//
// Close frees a thing, once, and every later use of it is an ErrInvalidHandle. Nothing is freed under work in
// progress: Close of a buffer waits for the work that was enqueued with it, a buffer that a Graph has recorded lives
// as long as the graph, and a context as long as the things that were made in it. Of pinned memory there may be slices,
// which do not lead to it: once Slice was called Close alone frees it. What is never closed is freed some
// time after the garbage collector finds it unreachable; but of device memory the collector knows nothing, so close
// it.
//
// # Serving
//
// Copies from and to Pinned memory run beside the host: WriteAsync and ReadAsync of a Buffer. NewBufferAsync and
// CloseAsync allocate in the order of a stream. StreamOptions and EventOptions describe streams and events, CaptureIn
// takes a mode, Update records a graph again in place and says whether that fits, CopyFromPeer copies between contexts.
// ContextOptions name a tuning file.
//
// # Goroutines
//
// Everything may be used by any goroutine at any time. The order of work on one stream is that of the calls; work on
// two streams is ordered by an Event, and without one the numbers may be wrong, but nothing else.
//
// # Without a GPU
//
// With LIBSPARK_DRIVER=emu in the environment the emulator takes the GPU's place.
package spark

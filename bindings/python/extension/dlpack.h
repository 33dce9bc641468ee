// SPDX-License-Identifier: Apache-2.0
// Tensors of other software, by the DLPack protocol: capsules, and the table of functions that a class may offer
// (__dlpack_c_exchange_api__) so that no capsule is needed. Called through sparkc.i; knows no operator and no context.
#ifndef LIBSPARK_PYTHON_DLPACK_H
#define LIBSPARK_PYTHON_DLPACK_H

#include <Python.h>
#include <stddef.h>

// Writes what a capsule holds as a spark_tensor into a bytearray, from `offset` on. The capsule stays unused, and its
// memory belongs to it. Gives (device, whether it may only be read).
PyObject *dlpack_read(PyObject *capsule, PyObject *args, size_t offset);

// A capsule of the spark_tensor in the bytearray `tensor`, which keeps `owner` alive.
PyObject *dlpack_make(PyObject *owner, PyObject *tensor, int device, int versioned);

// The address of the table in a class's capsule; 0 if it is of no version that is known here.
size_t exchange_of(PyObject *capsule);

// As dlpack_read, from an object of that class.
PyObject *exchange_read(size_t api, PyObject *object, PyObject *args, size_t offset);

// The stream on which that software works now, as an integer.
PyObject *exchange_stream(size_t api, int device);

#endif

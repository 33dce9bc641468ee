// SPDX-License-Identifier: Apache-2.0
// The C API for Python, as SWIG reads it from spark.h: plain functions over integers and bytearrays. What users see is
// written in Python over this (../libspark). Nothing here knows any operator.
//
//   contexts, device and host addresses, streams, events, graphs    int
//   spark_args, spark_exec, spark_context_desc                      bytearray, laid out as in C
//   spark_stream_desc, spark_event_desc, spark_graph_desc           the same, or None
//   outputs                                                         returned, one or a list
//   a status other than SPARK_OK                                    the exception that on_error makes of it
%module(package="libspark") sparkc
%{
#include <spark.h>
#include <string.h>

#include "dlpack.h"
%}
%include <stdint.i>
%include <typemaps.i>

%ignore spark_set_log; // threads of other software would come here without the interpreter's lock; there is LIBSPARK_LOG
%ignore SPARK_H_;
// The typed functions and structures of operators: reflection is enough, and knows operators newer than this header.
%rename("$ignore", regextarget=1) "_args$";
%rename("$ignore", %$isfunction,
        regexmatch$name="^spark_",
        notregexmatch$name="^spark_(version|build_info|status|dtype|device|context|mem|host|peer|stream|event|graph|op)(_|$)") "";
%pythonnondynamic;

// ---- errors -------------------------------------------------------------------------------------------------------
%{
static _Thread_local spark_error said; // by the call that this thread makes
static PyObject *error_maker;

static void raise_error(spark_status status) {
    PyObject *error = PyObject_CallFunction(error_maker, "iiIIs", (int)status, (int)said.driver_code,
                                            (unsigned)said.op, (unsigned)said.field, said.message);
    if (error == NULL) return; // that is an exception too
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
}

static PyObject *on_error(PyObject *maker) {
    Py_INCREF(maker);
    Py_XDECREF(error_maker);
    error_maker = maker;
    Py_RETURN_NONE;
}
%}
PyObject *on_error(PyObject *maker);

%typemap(in, numinputs=0) spark_error *err {
    memset(&said, 0, sizeof said);
    said.struct_size = sizeof said;
    $1 = &said;
}
%typemap(out) spark_status {
    if ($1 != SPARK_OK) {
        raise_error($1);
        SWIG_fail;
    }
    $result = NULL; // the outputs, if there are any, take its place
}
%typemap(ret) spark_status {
    if ($result == NULL) $result = Py_BuildValue("");
}

// ---- handles, addresses, bytes ------------------------------------------------------------------------------------
%typemap(in) spark_context *, void *dst, const void *src, void *data {
    $1 = ($1_ltype)PyLong_AsVoidPtr($input);
    if ($1 == NULL && PyErr_Occurred()) SWIG_fail;
}
%typemap(in, numinputs=0) spark_context **out (spark_context *made = NULL) "$1 = &made;"
%typemap(argout) spark_context **out {
    $result = SWIG_AppendOutput($result, PyLong_FromVoidPtr(*$1));
}

%typemap(in, numinputs=0) void **out (void *made = NULL) "$1 = &made;"
%typemap(argout) void **out {
    $result = SWIG_AppendOutput($result, PyLong_FromVoidPtr(*$1));
}

%{
// The bytes of a bytearray, if there are so many.
static void *bytes_of(PyObject *object, size_t least) {
    if (!PyByteArray_Check(object) || (size_t)PyByteArray_Size(object) < least) {
        PyErr_Format(PyExc_TypeError, "a bytearray of %zu bytes or more wanted", least);
        return NULL;
    }
    return PyByteArray_AsString(object);
}

// Arguments of an operator: as long as they say that they are.
static void *args_of(PyObject *object) {
    spark_args *args = bytes_of(object, sizeof *args);
    return args == NULL ? NULL : bytes_of(object, args->struct_size);
}
%}
%typemap(in) const spark_args *args {
    $1 = args_of($input);
    if ($1 == NULL) SWIG_fail;
}
%typemap(in) const spark_exec *exec, const spark_context_desc *desc {
    $1 = bytes_of($input, sizeof *$1);
    if ($1 == NULL) SWIG_fail;
}
%typemap(in) const spark_stream_desc *desc, const spark_event_desc *desc, const spark_graph_desc *desc {
    $1 = $input == Py_None ? NULL : bytes_of($input, sizeof *$1);
    if ($1 == NULL && $input != Py_None) SWIG_fail;
}
%typemap(in) (char *text, size_t capacity) {
    $1 = bytes_of($input, 1);
    if ($1 == NULL) SWIG_fail;
    $2 = (size_t)PyByteArray_Size($input);
}

// ---- outputs ------------------------------------------------------------------------------------------------------
%apply uint64_t *OUTPUT { spark_devptr *out, spark_stream *out, spark_event *out, spark_graph *out,
                          uint64_t *native, uint64_t *free_bytes, uint64_t *total_bytes, size_t *needed };
%apply uint32_t *OUTPUT { uint32_t *done, uint32_t *count, uint32_t *can };
%apply int32_t *OUTPUT { int32_t *count };
%apply float *OUTPUT { float *milliseconds };

%typemap(in, numinputs=0) spark_op_info *info, spark_device_info *info {
    $1 = calloc(1, sizeof *$1);
    if ($1 == NULL) {
        PyErr_NoMemory();
        SWIG_fail;
    }
    $1->struct_size = sizeof *$1;
}
%typemap(argout) spark_op_info *info, spark_device_info *info {
    $result = SWIG_AppendOutput($result, SWIG_NewPointerObj($1, $1_descriptor, SWIG_POINTER_OWN));
    $1 = NULL; // the object's now
}
%typemap(freearg) spark_op_info *info, spark_device_info *info "free($1);"

%typemap(in) (spark_op_info *infos, uint32_t capacity) {
    $2 = (uint32_t)PyLong_AsUnsignedLong($input);
    if (PyErr_Occurred()) SWIG_fail;
    $1 = calloc($2 + 1u, sizeof *$1);
    if ($1 == NULL) {
        PyErr_NoMemory();
        SWIG_fail;
    }
    for (uint32_t i = 0; i < $2; ++i) $1[i].struct_size = sizeof *$1;
}
%typemap(argout) (spark_op_info *infos, uint32_t capacity) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < $2 && $1[i].kernel[0] != '\0'; ++i) {
        spark_op_info *copy = malloc(sizeof *copy);
        if (copy == NULL) break;
        *copy = $1[i];
        PyObject *info = SWIG_NewPointerObj(copy, $descriptor(spark_op_info *), SWIG_POINTER_OWN);
        if (info != NULL) PyList_Append(list, info);
        Py_XDECREF(info);
    }
    PyObject *all = list == NULL ? NULL : PyList_AsTuple(list); // further outputs would be appended to a list
    Py_XDECREF(list);
    $result = SWIG_AppendOutput($result, all);
}
%typemap(freearg) (spark_op_info *infos, uint32_t capacity) "free($1);"

// Sizes of a block, and what else is short numbers in a row.
%typemap(out) uint16_t [ANY] {
    $result = PyTuple_New($1_dim0);
    for (Py_ssize_t i = 0; $result != NULL && i < $1_dim0; ++i) PyTuple_SetItem($result, i, PyLong_FromLong($1[i]));
}

// ---- the API; other threads run meanwhile -------------------------------------------------------------------------
%immutable;
%exception {
    Py_BEGIN_ALLOW_THREADS
    $action
    Py_END_ALLOW_THREADS
}
#define SPARK_API
%include "spark.h"
%exception;

// ---- exchange of tensors: dlpack.h --------------------------------------------------------------------------------
PyObject *dlpack_read(PyObject *capsule, PyObject *args, size_t offset);
PyObject *dlpack_make(PyObject *owner, PyObject *tensor, int device, int versioned);
size_t exchange_of(PyObject *capsule);
PyObject *exchange_read(size_t api, PyObject *object, PyObject *args, size_t offset);
PyObject *exchange_stream(size_t api, int device);

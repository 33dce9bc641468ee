// SPDX-License-Identifier: Apache-2.0
// The memory layouts of DLPack 0.x and 1.x, and what is needed to read and make them with Python's stable ABI.
#include "dlpack.h"

#include <spark.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} Type;

typedef struct {
    void *data;
    int32_t device_type, device;
    int32_t ndim;
    Type type;
    int64_t *shape, *strides; // strides may be NULL: packed
    uint64_t byte_offset;
} Tensor;

typedef struct Managed {
    Tensor tensor;
    void *manager;
    void (*deleter)(struct Managed *);
} Managed;

typedef struct ManagedVersioned {
    uint32_t major, minor;
    void *manager;
    void (*deleter)(struct ManagedVersioned *);
    uint64_t flags;
    Tensor tensor;
} ManagedVersioned;

typedef struct {
    uint32_t major, minor;
    void *previous;
    void *allocate;
    int (*managed)(void *object, ManagedVersioned **out);
    void *to_object;
    int (*borrow)(void *object, Tensor *out); // may be NULL
    int (*stream)(int32_t device_type, int32_t device, void **out);
} Exchange;

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, CUDA_MANAGED = 13 };
enum { READ_ONLY = 1, PADDED = 4 };
enum { MAJOR = 1, MINOR = 0 }; // of the capsules made here
static const char *const UNUSED = "dltensor", *const UNUSED_VERSIONED = "dltensor_versioned";

// Codes: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, from 7 on the narrow floats.
static const struct {
    uint8_t code, bits;
    spark_dtype dtype;
} TYPES[] = {
    {2, 32, SPARK_DTYPE_F32},  {2, 16, SPARK_DTYPE_F16},  {4, 16, SPARK_DTYPE_BF16}, {2, 64, SPARK_DTYPE_F64},
    {0, 8, SPARK_DTYPE_I8},    {1, 8, SPARK_DTYPE_U8},    {0, 32, SPARK_DTYPE_I32},  {1, 32, SPARK_DTYPE_U32},
    {0, 64, SPARK_DTYPE_I64},  {1, 64, SPARK_DTYPE_U64},  {6, 8, SPARK_DTYPE_BOOL8}, {0, 4, SPARK_DTYPE_I4},
    {1, 4, SPARK_DTYPE_U4},    {10, 8, SPARK_DTYPE_E4M3}, {12, 8, SPARK_DTYPE_E5M2}, {14, 8, SPARK_DTYPE_UE8M0},
    {15, 6, SPARK_DTYPE_E2M3}, {16, 6, SPARK_DTYPE_E3M2}, {17, 4, SPARK_DTYPE_E2M1},
};

static spark_dtype dtype_of(Type type) {
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; ++i)
        if (TYPES[i].code == type.code && TYPES[i].bits == type.bits && type.lanes == 1) return TYPES[i].dtype;
    return SPARK_DTYPE_NONE;
}

static bool on_device(const Tensor *t) {
    if (t->device_type == CUDA || t->device_type == CUDA_MANAGED) return true;
    if (t->device_type == CPU || t->device_type == CUDA_HOST)
        PyErr_SetString(PyExc_ValueError,
                        "the memory is on the host; device memory wanted (DeviceArray.from_numpy makes a copy there)");
    else
        PyErr_Format(PyExc_ValueError, "the memory is on a device of DLPack's type %d; CUDA (2) wanted",
                     (int)t->device_type);
    return false;
}

// Zero strides of a repeated element would read as packed, which is what all zeros mean to the library.
static bool repeats(const spark_tensor *t) {
    bool repeated = false;
    for (uint32_t i = 0; i < t->ndim; ++i) {
        if (t->shape[i] == 0 || t->stride[i] != 0) return false;
        repeated |= t->shape[i] > 1;
    }
    return repeated;
}

static bool convert(const Tensor *from, spark_tensor *to) {
    if (!on_device(from)) return false;
    if (from->ndim < 1 || from->ndim > SPARK_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "the tensor has %d dimensions; 1 to %d wanted", (int)from->ndim, SPARK_MAX_NDIM);
        return false;
    }
    *to = (spark_tensor){
        .data = (uintptr_t)from->data + from->byte_offset, .dtype = dtype_of(from->type), .ndim = (uint32_t)from->ndim};
    if (to->dtype == SPARK_DTYPE_NONE) {
        PyErr_Format(PyExc_TypeError, "the library has no dtype for DLPack's code %d with %d bits and %d lanes",
                     from->type.code, from->type.bits, from->type.lanes);
        return false;
    }
    for (int i = 0; i < from->ndim; ++i) {
        to->shape[i] = from->shape[i];
        to->stride[i] = from->strides == NULL ? 0 : from->strides[i];
    }
    if (from->strides != NULL && repeats(to)) {
        PyErr_SetString(PyExc_ValueError, "all strides are 0: one element repeated; give it memory of its own");
        return false;
    }
    return true;
}

static PyObject *store(const Tensor *from, uint64_t flags, PyObject *args, size_t offset) {
    if (!PyByteArray_Check(args) || offset + sizeof(spark_tensor) > (size_t)PyByteArray_Size(args)) {
        PyErr_SetString(PyExc_TypeError, "a bytearray with room for a tensor wanted");
        return NULL;
    }
    if (flags & PADDED) {
        PyErr_SetString(PyExc_ValueError, "elements smaller than a byte are padded to one; packed ones wanted");
        return NULL;
    }
    spark_tensor to;
    if (!convert(from, &to)) return NULL;
    memcpy(PyByteArray_AsString(args) + offset, &to, sizeof to);
    return Py_BuildValue("iO", (int)from->device, flags & READ_ONLY ? Py_True : Py_False);
}

PyObject *dlpack_read(PyObject *capsule, PyObject *args, size_t offset) {
    if (PyCapsule_IsValid(capsule, UNUSED_VERSIONED)) {
        const ManagedVersioned *managed = PyCapsule_GetPointer(capsule, UNUSED_VERSIONED);
        if (managed->major != MAJOR) {
            PyErr_Format(PyExc_BufferError, "the tensor is of DLPack %u.%u; 1.x wanted", managed->major,
                         managed->minor);
            return NULL;
        }
        return store(&managed->tensor, managed->flags, args, offset);
    }
    const Managed *managed = PyCapsule_GetPointer(capsule, UNUSED);
    return managed == NULL ? NULL : store(&managed->tensor, 0, args, offset);
}

size_t exchange_of(PyObject *capsule) {
    const Exchange *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (api != NULL && api->major > MAJOR) api = api->previous;
    PyErr_Clear();
    return api != NULL && api->major == MAJOR && api->managed != NULL ? (size_t)api : 0;
}

PyObject *exchange_read(size_t address, PyObject *object, PyObject *args, size_t offset) {
    const Exchange *api = (const Exchange *)address;
    Tensor tensor;
    if (api->borrow != NULL) return api->borrow(object, &tensor) ? NULL : store(&tensor, 0, args, offset);
    ManagedVersioned *managed = NULL;
    if (api->managed(object, &managed)) return NULL;
    PyObject *result = store(&managed->tensor, managed->flags, args, offset);
    if (managed->deleter != NULL) managed->deleter(managed); // the object itself outlives the call
    return result;
}

PyObject *exchange_stream(size_t address, int device) {
    const Exchange *api = (const Exchange *)address;
    void *stream = NULL;
    if (api->stream != NULL && api->stream(CUDA, device, &stream)) return NULL;
    return PyLong_FromVoidPtr(stream);
}

// ---- making capsules ----------------------------------------------------------------------------------------------

// One allocation for both forms: the tensor's arrays stand behind the structure that the consumer sees.
typedef struct {
    union {
        Managed plain;
        ManagedVersioned versioned;
    } as;
    int64_t shape[SPARK_MAX_NDIM], strides[SPARK_MAX_NDIM];
} Export;

static void let_go(PyObject *owner) {
    if (!Py_IsInitialized()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(owner);
    PyGILState_Release(state);
}

static void end_plain(Managed *managed) {
    let_go(managed->manager);
    free(managed);
}

static void end_versioned(ManagedVersioned *managed) {
    let_go(managed->manager);
    free(managed);
}

// A capsule that nobody used.
static void end_capsule(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, UNUSED)) end_plain(PyCapsule_GetPointer(capsule, UNUSED));
    else if (PyCapsule_IsValid(capsule, UNUSED_VERSIONED))
        end_versioned(PyCapsule_GetPointer(capsule, UNUSED_VERSIONED));
}

static bool describe(Export *made, const spark_tensor *from, int device, Tensor *to) {
    *to = (Tensor){.data = (void *)(uintptr_t)from->data,
                   .device_type = CUDA,
                   .device = device,
                   .ndim = (int32_t)from->ndim,
                   .shape = made->shape,
                   .strides = made->strides};
    int64_t packed = 1;
    bool strided = false;
    for (uint32_t i = 0; i < from->ndim; ++i) strided |= from->stride[i] != 0;
    for (uint32_t i = from->ndim; i-- > 0;) {
        made->shape[i] = from->shape[i];
        made->strides[i] = strided ? from->stride[i] : packed;
        packed *= from->shape[i];
    }
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; ++i)
        if (TYPES[i].dtype == from->dtype) to->type = (Type){TYPES[i].code, TYPES[i].bits, 1};
    if (to->type.lanes == 0)
        PyErr_Format(PyExc_BufferError, "DLPack has no type for %s", spark_dtype_name(from->dtype));
    return to->type.lanes != 0;
}

PyObject *dlpack_make(PyObject *owner, PyObject *tensor, int device, int versioned) {
    if (!PyByteArray_Check(tensor) || (size_t)PyByteArray_Size(tensor) < sizeof(spark_tensor)) {
        PyErr_SetString(PyExc_TypeError, "a bytearray that holds a tensor wanted");
        return NULL;
    }
    Export *made = calloc(1, sizeof *made);
    if (made == NULL) return PyErr_NoMemory();
    const spark_tensor *from = (const spark_tensor *)PyByteArray_AsString(tensor);
    if (!describe(made, from, device, versioned ? &made->as.versioned.tensor : &made->as.plain.tensor)) {
        free(made);
        return NULL;
    }
    Py_INCREF(owner);
    if (versioned) {
        made->as.versioned.major = MAJOR;
        made->as.versioned.minor = MINOR;
        made->as.versioned.manager = owner;
        made->as.versioned.deleter = end_versioned;
    } else {
        made->as.plain.manager = owner;
        made->as.plain.deleter = end_plain;
    }
    PyObject *capsule = PyCapsule_New(made, versioned ? UNUSED_VERSIONED : UNUSED, end_capsule);
    if (capsule == NULL) {
        Py_DECREF(owner);
        free(made);
    }
    return capsule;
}

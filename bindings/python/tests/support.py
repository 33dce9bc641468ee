# SPDX-License-Identifier: Apache-2.0
"""What several test files use: a context and a stream of their own, and tensors of software that is not there."""
import ctypes
import unittest

import numpy as np

from libspark import Context, DeviceArray, Stream


class OnDevice(unittest.TestCase):
    """A context and a stream for each test, closed behind it."""

    def setUp(self):
        self.ctx = Context()
        self.stream = Stream(self.ctx)
        self.addCleanup(self.ctx.close)

    def array(self, values, dtype=None):
        return DeviceArray.from_numpy(values, dtype, stream=self.stream)

    def zeros(self, shape, dtype):
        return DeviceArray.zeros(shape, dtype, stream=self.stream)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


# ---- DLPack, as a producer in another language would write it ----

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

NAMES = {name: ctypes.create_string_buffer(name)
         for name in (b"dltensor", b"dltensor_versioned", b"dlpack_exchange_api")}


def capsule_of(structure, name):
    return new_capsule(ctypes.addressof(structure), ctypes.addressof(NAMES[name]), None)


class Producer:
    """A tensor of other software over the memory of an array; every field of DLPack's structures can be set."""

    def __init__(self, array, versioned=True, flags=0, major=1, packed=False, **fields):
        count = array.ndim
        self.shape, self.strides = (ctypes.c_int64 * 8)(*array.shape), (ctypes.c_int64 * 8)(*array.strides)
        types = {"F32": (2, 32), "F16": (2, 16), "BF16": (4, 16), "I32": (0, 32), "I64": (0, 64), "U8": (1, 8)}
        code, bits = types[array.dtype.name]
        self.tensor = Tensor(array.address, 2, 0, count, code, bits, 1, self.shape,
                             None if packed else self.strides, 0)
        for name, value in fields.items():
            setattr(self.tensor, name, value)
        self.versioned, self.flags, self.major = versioned, flags, major
        self.streams, self.array = [], array

    def __dlpack_device__(self):
        return self.tensor.device_type, self.tensor.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        if self.versioned:
            self.made = ManagedVersioned(self.major, 0, None, None, self.flags, self.tensor)
        else:
            self.made = Managed(self.tensor, None, None)
        return capsule_of(self.made, b"dltensor_versioned" if self.versioned else b"dltensor")


class OldProducer(Producer):
    """Of before DLPack 1.0: it has not heard of max_version."""

    def __init__(self, array):
        super().__init__(array, versioned=False)

    def __dlpack__(self, *, stream=None):
        return super().__dlpack__(stream=stream)


class Exchange(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.c_void_p),
                ("allocate", ctypes.c_void_p),
                ("managed", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))),
                ("to_object", ctypes.c_void_p),
                ("borrow", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))),
                ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32,
                                             ctypes.POINTER(ctypes.c_void_p)))]


def exchanging(stream, borrows=True, major=1):
    """A class of tensors with a table of functions, whose software works on `stream`."""
    class Exchanging(Producer):
        deleted = 0

        def __dlpack__(self, **_):
            raise AssertionError("the table makes capsules needless")

    def borrow(tensor, out):
        out[0] = tensor.tensor
        return 0

    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def delete(_):
        Exchanging.deleted += 1

    def managed(tensor, out):
        tensor.made = ManagedVersioned(1, 3, None, ctypes.cast(delete, ctypes.c_void_p), tensor.flags, tensor.tensor)
        out[0] = ctypes.addressof(tensor.made)
        return 0

    def current(device_type, device, out):
        out[0] = stream.handle
        return 0

    kinds = dict(Exchange._fields_)
    table = Exchange(major, 3, None, None, kinds["managed"](managed), None,
                     kinds["borrow"](borrow) if borrows else kinds["borrow"](0), kinds["stream"](current))
    Exchanging.kept = (table, delete)
    Exchanging.__dlpack_c_exchange_api__ = capsule_of(table, b"dlpack_exchange_api")
    return Exchanging


class CudaArray:
    """A tensor that has __cuda_array_interface__ alone."""

    def __init__(self, array, **told):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **told}
        self.array = array

# SPDX-License-Identifier: Apache-2.0
"""Tensors of other software, in and out."""
import ctypes
import gc
import unittest
import weakref

import numpy as np
from support import (CudaArray, ManagedVersioned, Managed, OldProducer, OnDevice, Producer, exchanging, pointer_of,
                     random)

from libspark import DeviceArray, InvalidArgument, Status, Stream, ops


class Consuming(OnDevice):
    def setUp(self):
        super().setUp()
        self.x = self.array(random(4, 64))
        self.wanted = ops.rmsnorm(self.x, eps=1e-5).numpy()

    def check(self, tensor, **options):
        made = ops.rmsnorm(tensor, eps=1e-5, ctx=self.ctx, **options)
        np.testing.assert_array_equal(made.numpy(), self.wanted)
        return made

    def test_capsules_of_both_kinds(self):
        for tensor in (Producer(self.x), Producer(self.x, versioned=False), OldProducer(self.x),
                       Producer(self.x, packed=True), Producer(self.x, device_type=13),
                       Producer(self.x, data=self.x.address - 8, byte_offset=8)):
            self.check(tensor)

    def test_the_stream_goes_to_the_producer(self):
        tensor = Producer(self.x)
        self.check(tensor)
        self.check(tensor, stream=self.stream)
        self.check(tensor, stream=self.stream.handle)
        self.assertEqual(tensor.streams, [1, self.stream.handle, self.stream.handle])

    def test_strides(self):
        wide = self.array(random(4, 128))
        half = wide[:, ::2]
        y = ops.cast(Producer(half), ctx=self.ctx, dtype="f32")
        np.testing.assert_array_equal(y.numpy(), half.numpy())

    def test_a_table_of_functions(self):
        for borrows in (True, False):
            kind = exchanging(self.stream, borrows)
            made = self.check(kind(self.x))
            self.assertEqual(made.stream.handle, self.stream.handle)
            self.assertEqual(kind.deleted, 0 if borrows else 1)
        other = Stream(self.ctx)
        self.assertEqual(self.check(kind(self.x), stream=other).stream, other)
        with self.assertRaises(AssertionError):  # of a newer major version: the capsule is asked for
            self.check(exchanging(self.stream, major=2)(self.x))

    def test_cuda_array_interface(self):
        self.check(CudaArray(self.x))
        self.check(CudaArray(self.x, strides=None))
        self.check(CudaArray(self.x, stream=None))
        made = self.check(CudaArray(self.x, stream=self.stream.handle))
        self.assertEqual(made.stream.handle, self.stream.handle)
        self.check(CudaArray(self.x), stream=self.stream)
        with self.assertRaisesRegex(ValueError, "no multiples"):
            self.check(CudaArray(self.x, strides=(6, 4)))
        with self.assertRaisesRegex(TypeError, "not a dtype"):
            self.check(CudaArray(self.x, typestr="<c8"))

    def test_host_memory(self):
        for tensor in (random(4, 64), Producer(self.x, device_type=1), Producer(self.x, device_type=3)):
            with self.assertRaisesRegex(ValueError, "rmsnorm: x: the memory is on the host"):
                self.check(tensor)

    def test_what_cannot_be_taken(self):
        for wanted, kind, fields in (
                ("device of DLPack's type 10", ValueError, {"device_type": 10}),
                ("device 3", ValueError, {"device": 3}),
                ("7 dimensions", ValueError, {"ndim": 7}), ("-1 dimensions", ValueError, {"ndim": -1}),
                ("no dtype for DLPack's code 5", TypeError, {"code": 5}), ("2 lanes", TypeError, {"lanes": 2}),
                ("DLPack 2.0", BufferError, {"major": 2}), ("padded", ValueError, {"flags": 4}),
                ("has 0 dimensions", ValueError, {"ndim": 0})):
            with self.subTest(wanted), self.assertRaisesRegex(kind, wanted):
                self.check(Producer(self.x, **fields))
        repeated = Producer(self.x)
        repeated.strides[:2] = 0, 0
        with self.assertRaisesRegex(ValueError, "one element repeated"):
            self.check(repeated)

    def test_read_only_ones_are_no_outputs(self):
        self.check(Producer(self.x, flags=1))
        y = self.zeros((4, 64), "f32")
        for tensor in (Producer(y, flags=1), CudaArray(y, data=(y.address, True))):
            with self.assertRaisesRegex(ValueError, "y may only be read"):
                ops.rmsnorm(self.x, y=tensor, eps=0)
        ops.rmsnorm(self.x, y=Producer(y), eps=1e-5)
        np.testing.assert_array_equal(y.numpy(), self.wanted)

    def test_an_error_of_the_producer_is_the_callers(self):
        class Broken(Producer):
            def __dlpack__(self, **_):
                raise KeyError("a producer's own")
        with self.assertRaises(KeyError):
            self.check(Broken(self.x))

        class Refusing(Producer):
            def __dlpack__(self, **_):
                raise InvalidArgument(Status.INVALID_HANDLE, 0, 0, 0, "of another context")
        with self.assertRaisesRegex(InvalidArgument, "of another context"):
            self.check(Refusing(self.x))


class Producing(OnDevice):
    def test_capsules(self):
        a = self.array(random(4, 6), "bf16")[:, ::2]
        self.assertEqual(a.__dlpack_device__(), (2, 0))
        capsule = a.__dlpack__(stream=-1, max_version=(1, 3))
        made = ManagedVersioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
        self.assertEqual((made.major, made.flags), (1, 0))
        old = a.__dlpack__(stream=-1)
        for tensor in (made.tensor, Managed.from_address(pointer_of(old, b"dltensor")).tensor):
            self.assertEqual((tensor.data, tensor.code, tensor.bits, tensor.lanes), (a.address, 4, 16, 1))
            self.assertEqual((tensor.shape[:2], tensor.strides[:2]), ([4, 3], [6, 2]))

    def test_a_capsule_keeps_the_memory(self):
        for use in (False, True):
            a = self.array(random(3))
            seen, capsule = weakref.ref(a), a.__dlpack__(stream=-1, max_version=(1, 0))
            del a
            gc.collect()
            self.assertIsNotNone(seen())
            if use:  # as a consumer does: takes the structure, renames the capsule, ends it later
                made = ManagedVersioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
                used = ctypes.create_string_buffer(b"used_dltensor_versioned")
                ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), used)
                del capsule
                self.assertIsNotNone(seen())
                ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(made.deleter)(ctypes.addressof(made))
            else:
                del capsule
            self.assertIsNone(seen())

    def test_a_consumer_waits_for_the_producer(self):
        a, consumer = self.array(random(3)), Stream(self.ctx)
        for stream in (None, 1, 2, consumer.handle, self.stream.handle, -1):
            a.__dlpack__(stream=stream)

    def test_what_cannot_be_exported(self):
        a = self.array(random(3))
        with self.assertRaises(BufferError):
            a.__dlpack__(copy=True)
        with self.assertRaises(BufferError):
            a.__dlpack__(dl_device=(1, 0))
        with self.assertRaisesRegex(BufferError, "no type for UE4M3"):
            self.zeros((3,), "ue4m3").__dlpack__()
        with self.assertRaises(AttributeError):
            self.zeros((3,), "bf16").__cuda_array_interface__
        a.free()
        with self.assertRaisesRegex(ValueError, "freed"):
            a.__dlpack__()

    def test_cuda_array_interface(self):
        told = self.array(random(4, 6))[:, ::2].__cuda_array_interface__
        self.assertEqual((told["version"], told["shape"], told["strides"], told["typestr"], told["stream"]),
                         (3, (4, 3), (24, 8), "<f4", self.stream.native))

    def test_there_and_back(self):
        a = self.array(random(2, 64), "bf16")
        class Only:
            def __dlpack__(self, **options):
                return a.__dlpack__(**options)
        b = ops.cast(Only(), dtype="f32", ctx=self.ctx)
        np.testing.assert_array_equal(b.numpy(), a.numpy())
        self.assertIsInstance(b, DeviceArray)


if __name__ == "__main__":
    unittest.main()

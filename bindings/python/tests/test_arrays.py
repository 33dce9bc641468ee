# SPDX-License-Identifier: Apache-2.0
"""DeviceArray: to and from NumPy, views, and shapes that are none."""
import unittest

import numpy as np
from support import OnDevice, random

from libspark import DeviceArray, Dtype
from libspark.memory import BITS, NUMPY


class Copies(OnDevice):
    def test_every_numpy_dtype_comes_back_bit_for_bit(self):
        for dtype, name in NUMPY.items():
            with self.subTest(dtype.name):
                host = (random(3, 5) * 100).astype(name)
                np.testing.assert_array_equal(self.array(host, dtype).numpy(), host)

    def test_bf16_is_rounded_to_nearest_even(self):
        bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800000, 0x80000000, 0xFFC00001], "u4")
        wanted = np.array([0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7F80, 0x8000, 0xFFC0], "u4") << 16
        found = self.array(bits.view("f4"), "bf16").numpy()
        self.assertEqual(found.dtype, np.float32)
        np.testing.assert_array_equal(found.view("u4"), wanted)

    def test_bytes_of_what_numpy_has_not(self):
        codes = np.arange(12, dtype="u1").reshape(3, 4)
        np.testing.assert_array_equal(self.array(codes, Dtype.E4M3).numpy(), codes)
        with self.assertRaisesRegex(TypeError, "NumPy has no E5M2"):
            self.array(random(3), "e5m2")
        narrow = DeviceArray.empty((4, 6), "e2m3", stream=self.stream)
        narrow.write(np.arange(18, dtype="u1"))
        self.assertEqual(narrow.nbytes, 18)
        np.testing.assert_array_equal(narrow.numpy(), np.arange(18))
        with self.assertRaisesRegex(TypeError, "smaller than a byte"):
            self.array(codes, "e2m1")

    def test_every_dtype_has_a_width(self):
        self.assertEqual(set(BITS), set(Dtype) - {Dtype.NONE})
        self.assertTrue(all(BITS.values()))

    def test_empty_ones(self):
        empty = self.zeros((0, 3), "f32")
        self.assertEqual((empty.address, empty.nbytes, empty.numpy().shape), (0, 0, (0, 3)))
        empty.write(np.empty((0, 3), "f4"))

    def test_copies_on_the_device(self):
        a, b = self.array(random(4, 4)), self.zeros((16,), "f32")
        b.copy_from(a)
        np.testing.assert_array_equal(b.numpy(), a.numpy().ravel())
        with self.assertRaisesRegex(ValueError, "of one size"):
            b.copy_from(self.zeros((15,), "f32"))

    def test_numpy_makes_no_copy_by_itself(self):
        with self.assertRaisesRegex(TypeError, r"numpy\(\) makes a copy"):
            np.asarray(self.zeros((4,), "f32"))
        with self.assertRaisesRegex(TypeError, r"numpy\(\) makes a copy"):
            self.array(self.zeros((4,), "f32"))

    def test_sizes_that_do_not_fit(self):
        with self.assertRaisesRegex(ValueError, "40 bytes for 16"):
            self.zeros((4,), "f32").write(random(10))
        with self.assertRaisesRegex(TypeError, "is not a dtype"):
            self.zeros((4,), "complex64")


class Views(OnDevice):
    def test_indexing_as_in_numpy(self):
        host = random(4, 6, 8)
        a = self.array(host)
        for key in (np.s_[1], np.s_[-1, 2], np.s_[1:3], np.s_[::2, 1:5:3], np.s_[..., 3], np.s_[:, None, 2:4],
                    np.s_[1, ..., 2:], np.s_[3:1], np.s_[0, 0, 0:1]):
            with self.subTest(key=key):
                np.testing.assert_array_equal(a[key].numpy(), host[key])
        self.assertEqual(len(a), 4)

    def test_what_indexing_refuses(self):
        a = self.zeros((4, 6), "f32")
        for key in (np.s_[0, 0, 0], np.s_[4], np.s_[::-1], np.s_[..., ...]):
            with self.subTest(key=key), self.assertRaises(IndexError):
                a[key]
        with self.assertRaisesRegex(ValueError, "begin at a byte"):
            DeviceArray.empty((8,), "e2m1", stream=self.stream)[1:]

    def test_reshape_and_strides(self):
        host = random(6, 4)
        a = self.array(host)
        np.testing.assert_array_equal(a.reshape(2, -1).numpy(), host.reshape(2, -1))
        np.testing.assert_array_equal(a.strided((4, 6), (1, 4)).numpy(), host.T)
        np.testing.assert_array_equal(a.strided((2, 2), (4, 1), 9).numpy(), host.ravel()[[[9, 10], [13, 14]]])
        with self.assertRaisesRegex(ValueError, "cannot be seen"):
            a.reshape(5, 5)
        with self.assertRaisesRegex(ValueError, "cannot be seen"):
            a[:, :2].reshape(12)
        self.assertFalse(a[:, :2].is_packed())
        with self.assertRaisesRegex(ValueError, "packed elements"):
            a[:, :2].write(random(6, 2))

    def test_views_beyond_their_memory(self):
        a = self.zeros((100,), "f32")
        a.strided((10, 1), (10, 1), 9)
        for shape, strides, offset in (((10, 11), (11, 1), 0), ((10, 1), (10, 1), 10), ((2,), (-1,), 1),
                                       ((2 ** 62, 3), (2 ** 62, 1), 0), ((1,), (1,), 2 ** 62)):
            with self.subTest(shape=shape, offset=offset), self.assertRaises(ValueError):
                a.strided(shape, strides, offset)

    def test_shapes_that_are_none(self):
        a = self.zeros((8,), "f32")
        with self.assertRaisesRegex(ValueError, "1 to 6 wanted"):
            a.strided((), ())
        with self.assertRaisesRegex(ValueError, "1 to 6 wanted"):
            DeviceArray.empty((1,) * 7, "f32", stream=self.stream)
        with self.assertRaisesRegex(ValueError, "would mean packed"):
            a.strided((2, 2), (0, 0))
        with self.assertRaisesRegex(ValueError, "1 strides for 2"):
            a.strided((2, 2), (1,))
        with self.assertRaisesRegex(ValueError, "negative"):
            DeviceArray.empty((-1,), "f32", stream=self.stream)
        with self.assertRaisesRegex(ValueError, "64 bits"):
            DeviceArray.empty((2 ** 63,), "u8", stream=self.stream)


if __name__ == "__main__":
    unittest.main()

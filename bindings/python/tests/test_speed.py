# SPDX-License-Identifier: Apache-2.0
"""What a call costs on the host, beyond the launch itself: a problem without elements is checked and not launched.

The limits are several times what is measured, since other work may run beside; the figures are in ../README.md.
"""
import time
import timeit
import unittest

from support import OnDevice, Producer

from libspark import ops


def microseconds(call, count=2000):
    """Of the processor, so that other work beside counts for little."""
    return min(timeit.repeat(call, number=count, repeat=7, timer=time.process_time)) / count * 1e6


class Cost(OnDevice):
    def setUp(self):
        super().setUp()
        self.arrays = [self.zeros(shape, "bf16") for shape in ((0, 64), (64,), (0, 64), (0, 64))]

    def test_calls(self):
        x, weight, residual, y = self.arrays

        class Quick(Producer):  # a producer as fast as one in C: it hands out one capsule
            def __init__(self, array):
                super().__init__(array)
                self.capsule = super().__dlpack__()

            def __dlpack__(self, *, stream=None, max_version=None):
                return self.capsule
        tensors = [Quick(array) for array in self.arrays]
        prepared = microseconds(ops.rmsnorm.prepare(x, weight, residual, y=y, eps=1e-5))
        full = microseconds(lambda: ops.rmsnorm(x, weight, residual, y=y, eps=1e-5))
        given = microseconds(lambda: ops.rmsnorm(*tensors[:3], y=tensors[3], eps=1e-5, ctx=self.ctx))
        print(f"prepared {prepared:.2f} us, four arrays {full:.1f} us, four DLPack tensors {given:.1f} us")
        self.assertLess(prepared, 10)
        self.assertLess(full, 75)
        self.assertLess(given, 75)


if __name__ == "__main__":
    unittest.main()

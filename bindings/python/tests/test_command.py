# SPDX-License-Identifier: Apache-2.0
"""python -m libspark."""
import os
import subprocess
import sys
import unittest

from libspark import ops


def command(*words, **variables):
    done = subprocess.run([sys.executable, "-m", "libspark", *words], capture_output=True, text=True,
                          env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


class Command(unittest.TestCase):
    def test_info(self):
        code, said, _ = command("info")
        self.assertEqual(code, 0)
        self.assertRegex(said, r"^libspark \d+\.\d+\.\d+, Python 3")
        self.assertIn("kernels: ", said)

    def test_doctor(self):
        code, said, _ = command("doctor")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"device 0: .*: usable")
        code, said, _ = command("doctor", LIBSPARK_DRIVER="/nowhere/libcuda.so")
        self.assertEqual(code, 1)
        self.assertIn("cannot be opened", said)

    def test_operators(self):
        code, said, _ = command("ops")
        self.assertEqual((code, [line.split()[0] for line in said.splitlines()]), (0, ops.__all__))
        code, said, _ = command("describe", "rmsnorm")
        self.assertEqual(code, 0)
        for wanted in ("x: input, [..., N], F32 F16 BF16", "residual_out: output, optional", "eps: number, required",
                       "flags: normalize_rounded"):
            self.assertIn(wanted, said)
        self.assertIn("c: input, optional, [B?, M, N/2 if GATED], as d\n", command("describe", "gemm")[1])
        self.assertIn("NONE SILU", command("describe", "glu")[1])
        self.assertIn("scale: number, usually 1 / sqrt(D)", command("describe", "attention")[1])
        self.assertIn("Q8_0 (records in U8): d (F16)", command("describe", "dequantize")[1])
        code, _, said = command("describe", "nothing")
        self.assertEqual(code, 2)
        self.assertIn("invalid choice", said)

    def test_selftest(self):
        code, said, _ = command("selftest")
        self.assertEqual(code, 0, said)
        self.assertIn("gemm: ok", said)
        code, _, said = command("selftest", LIBSPARK_DRIVER="/nowhere/libcuda.so")
        self.assertEqual((code, said.startswith("libspark: SPARK_ERR_NO_DRIVER")), (1, True))


if __name__ == "__main__":
    unittest.main()

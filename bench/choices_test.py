#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# spark-bench on the emulator: what it says of rivals and of drawn shapes. Times mean little there; a kernel that takes
# an element at a time is slower than one that takes eight all the same.
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ARGS = None
BEATEN = 3


def bench(*words, **environment):
    """The exit status, what it said on standard error, and the text that it wrote as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        ran = subprocess.run([ARGS.bench, "--small", "--json", file, *words], capture_output=True, text=True,
                             env=os.environ | {"LIBSPARK_DRIVER": ARGS.emu} | environment)
        return ran.returncode, ran.stderr, file.read_text() if file.exists() else ""


class Bench(unittest.TestCase):
    def test_a_bad_choice_is_told(self):
        code, said, text = bench("--rivals", "--only", "rmsnorm", LIBSPARK_KERNEL="*__plain")
        row = next(row for row in json.loads(text)["rows"] if row["name"] == "rmsnorm")
        self.assertEqual((code, row["kernel"], row["beaten"]), (BEATEN, "norm_bf16__plain", True), said)
        self.assertNotEqual(row["best"], row["kernel"])
        self.assertLess(row["best_us"], row["median_us"])
        told = re.search(r"the library chooses norm_bf16__plain, (\S+) us; (\S+) takes (\S+)", said)
        self.assertTrue(told, said)
        self.assertEqual(told[2], row["best"])
        for text, exact in ((told[1], row["median_us"]), (told[3], row["best_us"])):
            self.assertAlmostEqual(float(text), exact, delta=0.0051)  # two decimals, of a number that has four

    def test_without_rivals_nothing_is_said_of_them(self):
        code, said, text = bench("--only", "rmsnorm", LIBSPARK_KERNEL="*__plain")
        self.assertEqual(code, 0, said)
        self.assertFalse(any("best" in row or "beaten" in row for row in json.loads(text)["rows"]))

    def drawn(self, seed, count):
        code, said, text = bench("--choices", str(seed), str(count))
        self.assertEqual(code, 0, said)
        head, *shapes = map(json.loads, text.splitlines())
        self.assertEqual(head["seed"], seed)
        return shapes

    def test_shapes_are_drawn_by_their_seed_and_have_three_kernels(self):
        first, more = self.drawn(3, 3), self.drawn(3, 6)
        self.assertEqual([shape["shape"] for shape in first], [shape["shape"] for shape in more[:3]])
        self.assertNotEqual([shape["shape"] for shape in first], [shape["shape"] for shape in self.drawn(4, 3)])
        self.assertEqual([shape["name"] for shape in more[:2]], ["gemm", "attention"])
        for shape in more:
            names = [kernel["kernel"] for kernel in shape["kernels"]]
            self.assertGreaterEqual(len(set(names)), 3)
            self.assertTrue(all(kernel["samples"] >= 1 and kernel["median_us"] > 0 for kernel in shape["kernels"]))

    def test_the_time_of_a_drawing_is_bounded(self):
        code, said, text = bench("--choices", "1", "1000", "--seconds", "0")
        self.assertEqual((code, len(text.splitlines())), (0, 1))
        self.assertIn("the time is up after 0 shapes", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--emu", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])

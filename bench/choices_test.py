#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# spark-bench on the emulator: what it says of rivals, of given and of drawn shapes. Times are counted there: a kernel
# that takes an element at a time has more instructions than one that takes eight.
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARGS = None
BEATEN = 3
# At least one of each operator that has rows, with each of its words.
SHAPES = ["gemm m=3 n=64 k=64 F16 tt", "gemm m=3 n=64 k=64 E4M3 tn", "gemm m=3 n=64 k=64 I8 tn",
          "gemm m=8 n=64 k=64 BF16 nn", "attention b=2 q=1 k=64 h=4/2 d=64 BF16",
          "attention b=1 q=9 k=64 h=2/1 d=64 F16 causal batch-invariant", "rmsnorm rows=3 n=64 F32 +residual",
          "l2norm rows=3 n=64 BF16", "layernorm rows=3 n=64 F16 +residual", "softmax rows=3 n=100 F32",
          "rope tokens=3 heads=2 d=32 BF16", "activation rows=3 n=64 BF16 gelu",
          "glu rows=3 n=64 BF16 gelu_tanh packed", "glu rows=3 n=64 BF16 silu", "add rows=3 n=64 BF16 in place",
          "embedding tokens=3 vocabulary=9 width=64 BF16", "cast rows=3 n=64 F32 to BF16 transposed",
          "cast rows=3 n=64 BF16 to F16", "dequantize rows=3 n=64 Q4_1 to F16", "sample rows=2 v=100 F32 greedy",
          "sample rows=2 v=100 BF16 k=5 p=0.9", "kv_append tokens=3 heads=2 d=32 b=2 capacity=4 F16",
          "quantize rows=3 n=64 BF16 E4M3_1X128", "quantize rows=3 n=64 F32 MXFP8",
          "dequantize rows=3 n=64 E4M3_ROW to F16", "dequantize rows=3 n=64 MXFP8 to F32",
          "quantize rows=3 n=64 F16 E4M3_TENSOR", "quantize rows=3 n=64 BF16 I8_ROW", "amax rows=3 n=64 F16"]


def bench(*words, **environment):
    """The exit status, what it said on standard error, and the text that it wrote as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.json"
        ran = subprocess.run([ARGS.bench, "--small", "--json", file, *words], capture_output=True, text=True,
                             env=os.environ | {"LIBSPARK_DRIVER": ARGS.emu, "LIBSPARK_EMU": "clock=counted"}
                             | environment)
        return ran.returncode, ran.stderr, file.read_text() if file.exists() else ""


class Bench(unittest.TestCase):
    def test_a_bad_choice_is_told(self):
        code, said, text = bench("--rivals", "--only", "rmsnorm", LIBSPARK_KERNEL="*__generic")
        row = next(row for row in json.loads(text)["rows"] if row["name"] == "rmsnorm")
        self.assertEqual((code, row["kernel"], row["beaten"]), (BEATEN, "norm_bf16__generic", True), said)
        self.assertNotEqual(row["best"], row["kernel"])
        self.assertLess(row["best_us"], row["median_us"])
        told = re.search(r"the library chooses norm_bf16__generic, (\S+) us; (\S+) takes (\S+)", said)
        self.assertTrue(told, said)
        self.assertEqual(told[2], row["best"])
        for text, exact in ((told[1], row["median_us"]), (told[3], row["best_us"])):
            self.assertAlmostEqual(float(text), exact, delta=0.0051)  # two decimals, of a number that has four

    def test_what_is_explained_has_its_optional_tensors(self):
        """Nothing runs, and no tensor has memory; slopes are there all the same, which plain kernels do not take."""
        shape = "attention b=1 q=128 k=128 h=2/2 d=128 BF16 alibi"
        code, said, text = bench("--choices", "rows", "1", "--explain", "--shape", shape)
        self.assertEqual(code, 0, said)
        told = next(entry["explain"] for entry in map(json.loads, text.splitlines()) if "explain" in entry)
        self.assertRegex(told, r"attention_bf16__d128_128x64 +no ")

    def test_without_rivals_nothing_is_said_of_them(self):
        code, said, text = bench("--only", "rmsnorm", LIBSPARK_KERNEL="*__generic")
        self.assertEqual(code, 0, said)
        self.assertFalse(any("best" in row or "beaten" in row for row in json.loads(text)["rows"]))

    def test_rows_of_given_shapes_bear_their_words(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# a note\n\n  " + "\n".join(SHAPES[1:]) + "\n")
            file.flush()
            code, said, text = bench("--shape", SHAPES[0], "--shapes", file.name)
        self.assertEqual(code, 0, said)
        rows = json.loads(text)["rows"]
        self.assertEqual([f"{row['name']} {row['shape']}" for row in rows if row["shape"]], SHAPES)
        self.assertTrue(all((row["host_ns"] > 0) == bool(row["shape"]) for row in rows), "ceilings launch no operator")

    def test_the_first_of_two_forms_is_what_is_written(self):
        """No kernel writes the other one."""
        code, said, _ = bench("--shape", "requantize rows=4 n=128 MXFP8 straight from codes E4M3_ROW")
        self.assertEqual(code, 0, said)

    def test_other_shapes_are_refused(self):
        for shape, why in (("", "an operator is missing"), ("conv n=3", "there are no rows of conv"),
                           ("gemm m=3 n=64 BF16 tn", "k=NUMBER is missing"),
                           ("gemm m=3 n=64 k=6x BF16 tn", "k=6x is not a number from 1"),
                           ("gemm m=0 n=64 k=64 BF16 tn", "m=0 is not a number from 1"),
                           ("gemm m=3 n=64 k=64 tn", "BF16 or F16 or F32 or E4M3 or E5M2 or I8 is missing"),
                           ("gemm m=3 n=64 k=64 BF16 tn tn", "tn is not a word of this operator's rows"),
                           ("l2norm rows=2 n=64 F32 +residual", "+residual is not a word of this operator's rows"),
                           ("attention b=1 q=1 k=64 h=4 d=64 BF16", "h=HEADS/KV_HEADS is missing"),
                           ("cast rows=2 n=8 F32 to FP8", "FP8 is not BF16, F16 or F32")):
            code, said, _ = bench("--shape", shape)
            self.assertEqual(code, 1)
            self.assertTrue(said.startswith(f'spark-bench: shape "{shape}": {why}'), said)
        self.assertEqual(bench("--shape", "gemm m=3 n=64 k=64 I8 nn")[0], 1)  # which the library says
        self.assertEqual(bench("--shapes", "/no/such/file")[:2], (1, "spark-bench: /no/such/file cannot be read\n"))
        self.assertEqual(bench("--shapes", "/dev/null")[:2], (1, "spark-bench: /dev/null names no shape\n"))

    def test_every_operator_has_rows_and_none_is_lost(self):
        ran = subprocess.run([ARGS.bench, "--list"], capture_output=True, text=True, check=True,
                             env=os.environ | {"LIBSPARK_DRIVER": ARGS.emu})
        rows = dict(line.split("\t") for line in ran.stdout.splitlines())
        numbers = (ROOT / "src/ops/first_sizes.txt").read_text()
        operators = {line.split()[0] for line in numbers.splitlines() if not line.startswith("#")}
        self.assertEqual({row.split()[0] for row in rows}, operators)
        for record in json.loads((ROOT / "docs/performance.json").read_text()):
            rulers = {row["name"] for row in record["rows"] if not row["ceiling"]}
            for row in record["rows"]:
                if row["shape"]:
                    names = rows[f"{row['name']} {row['shape']}"].split()
                    if rulers.issuperset(names):  # a record may be older than a ruler
                        self.assertIn(row["ceiling"], names, row["shape"])

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

    def test_rows_of_the_bench_are_choices_too(self):
        code, said, text = bench("--choices", "rows", "100", "--only", "rmsnorm")
        self.assertEqual(code, 0, said)
        _, row = map(json.loads, text.splitlines())
        self.assertEqual(f"{row['name']} {row['shape']}", "rmsnorm rows=16 n=1024 BF16")
        self.assertGreaterEqual(len(row["kernels"]), 2)

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

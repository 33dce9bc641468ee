#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Tuning files from end to end, on the emulator: what spark-bench --tune writes, that the library takes the kernels of
# such a file, whoever names it, and that it refuses or leaves out what is not for it.
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
BEATEN, REFUSED = 3, 2


def bench(*words, **environment):
    return subprocess.run([ARGS.bench, "--small", *words], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"LIBSPARK_DRIVER": ARGS.emu, "LIBSPARK_EMU": "clock=counted",
                                            "LIBSPARK_LOG": "warn"} | environment)


PROBLEM = re.compile(r"  problem (\w{16}) on chip (.+), library (.+); (.+)\n")
LEGAL = re.compile(r"^(.) (\w+) +yes", re.M)


class File(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "tuned"

    def explained(self, file=""):
        """What the library says of some shapes with a tuning file, and what was logged. Of products: other operators
        have one kernel alone that is legal, or keep to one order of sums."""
        out = self.folder / "explained"
        ran = bench("--choices", "3", "9", "--explain", "--only", "gemm", "--json", out, LIBSPARK_TUNE=str(file))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [json.loads(line)["explain"] for line in out.read_text().splitlines()[1:]], ran.stderr

    def head(self):
        number, chip, library, _ = PROBLEM.search(self.explained()[0][0]).groups()
        return ["libspark tuning 1", f"library {library}", f"chip {chip}"]

    def write(self, lines):
        self.file.write_text("\n".join(lines) + "\n")

    def refused(self, file, sentence):
        ran = bench("--choices", "3", "1", "--explain", "--json", self.folder / "none", LIBSPARK_TUNE=str(file))
        self.assertEqual(ran.returncode, REFUSED)
        self.assertIn(f"LIBSPARK_TUNE: {sentence}", ran.stderr)

    def test_a_files_kernels_are_taken(self):
        texts, entries, wanted = self.explained()[0], [], []
        for text in texts:
            self.assertIn("no tuning file", text)
            wanted.append([kernel for mark, kernel in LEGAL.findall(text) if mark != "*"][-1])
            entries.append(f"{PROBLEM.search(text)[1]} {wanted[-1]} a note")
        self.write(self.head() + entries)
        for text, kernel in zip(self.explained(self.file)[0], wanted):
            self.assertIn(f"* {kernel} ", text)
            self.assertIn("; in the tuning file", text)
        self.write(self.head() + entries[:1])
        self.assertIn("not in the tuning file", self.explained(self.file)[0][1])

    def test_bench_writes_what_beat_the_choice(self):
        ran = bench("--only", "rmsnorm", "--tune", self.file, LIBSPARK_KERNEL="*__generic")
        lines = self.file.read_text().splitlines()
        self.assertEqual(lines[:3], self.head())
        beaten = ran.stderr.count("the library chooses")
        self.assertEqual((ran.returncode, len(lines)), (BEATEN if beaten else 0, 3 + beaten), ran.stderr)
        self.assertNotIn("left out", self.explained(self.file)[1])

    def test_bench_tunes_for_given_shapes(self):
        shape = "rmsnorm rows=16 n=1024 BF16"
        ran = bench("--shape", shape, "--shape", shape, "--tune", self.file, LIBSPARK_KERNEL="*__generic")
        lines = self.file.read_text().splitlines()
        self.assertEqual(lines[:3], self.head())
        self.assertEqual(len(lines), 3 + ("the library chooses" in ran.stderr), "one entry for both")
        self.assertTrue(all(f" {shape}: " in line for line in lines[3:]))
        self.assertNotIn("left out", self.explained(self.file)[1])

    def test_a_file_for_others_is_left_out_with_a_warning(self):
        for place, change, word in ((1, "library 9.9.9 0", "library"), (2, "chip 12.0, 1 SMs, Another", "chip")):
            lines = self.head()
            lines[place] = change
            self.write(lines + ["0123456789abcdef gemm_bf16_any__generic"])
            texts, said = self.explained(self.file)
            self.assertIn("no tuning file", texts[0])
            self.assertIn(f"is for another {word} and is left out", said)

    def test_other_files_are_refused(self):
        missing = self.folder / "missing"
        self.refused(missing, f"No such file or directory: {missing}")
        self.refused(self.folder, f"Is a directory: {self.folder}")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused(pipe, f"not a plain file: {pipe}")
        self.write(self.head() + ["x" * (1 << 20)])
        self.refused(self.file, f"more than 1048576 bytes: {self.file}")
        self.file.write_bytes(bytes(range(256)) * 16)
        self.refused(self.file, "line 1 is not the first of a tuning file; "
                                f"a file of spark-bench --tune wanted: {self.file}")
        self.write(self.head() + ["0123456789abcdef no_such_kernel"])
        self.refused(self.file, "line 4 names no kernel of this library; "
                                f"a file of spark-bench --tune wanted: {self.file}")

    def test_a_file_of_the_description_comes_before_the_variable(self):
        self.write(["libspark tuning 1", "library of another", "chip of another"])
        for variable in ("", str(self.folder / "missing")):
            ran = subprocess.run([sys.executable, "-c", DESCRIBED, ARGS.library, self.file], text=True, timeout=60,
                                 env=os.environ | {"LIBSPARK_TUNE": variable, "LIBSPARK_LOG": "warn"},
                                 capture_output=True)
            self.assertEqual(ran.stderr.count(f"{self.file} is for another library and is left out"), 1, ran.stderr)
            said = f"LIBSPARK_TUNE: No such file or directory: {variable}" if variable else ""
            self.assertEqual(ran.stdout.splitlines(), ["0 ", f"{INVALID_VALUE if variable else 0} {said}"])


INVALID_VALUE = 1014
# Makes two offline contexts, of which the first names the file itself, and prints what comes of them.
DESCRIBED = """
import ctypes, struct, sys
library, path = ctypes.CDLL(sys.argv[1]), sys.argv[2].encode()
held = ctypes.create_string_buffer(path)
for size in (len(path), 0):
    desc = struct.pack("=IIiIQQQ", 40, 0, 0, 120, 0, ctypes.addressof(held), size)
    error = ctypes.create_string_buffer(struct.pack("=I", 1044), 1044)
    status = library.spark_context_create(desc, ctypes.byref(ctypes.c_void_p()), error)
    print(status, error.raw[20:].split(b"\\0")[0].decode())
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--emu", required=True)
    parser.add_argument("--library", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])

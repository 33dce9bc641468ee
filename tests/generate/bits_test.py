#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# generate-bits on a small model: a driver has its own bits, a changed bit is found where it was changed and is not
# handed down, and a file of other launches is refused. usage: bits_test.py GENERATE-BITS MODEL FOLDER
import re
import shutil
import struct
import subprocess
import sys
import unittest
from pathlib import Path

program, model, folder = sys.argv[1:]
folder = Path(folder)


def run(way, file, code=0):
    done = subprocess.run([program, "--model", model, way, str(file)], capture_output=True, text=True)
    assert done.returncode == code, f"{way}: exit code {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def kinds(text):
    """{label: (launches, equal)}"""
    found = re.findall(r"^launches +(\d+) equal +(\d+) (.+)$", text, re.M)
    return {label: (int(n), int(equal)) for n, equal, label in found}


class Bits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        cls.own = folder / "own"
        run("--write", cls.own)

    def changed(self):
        """The same with one bit changed in the first output, that of the embedding."""
        data = bytearray(self.own.read_bytes())
        data[8 + struct.unpack_from("<Q", data)[0] // 2] ^= 1
        path = folder / "changed"
        path.write_bytes(data)
        return path

    def test_a_driver_has_its_own_bits(self):
        for way in ("--follow", "--alone"):
            text = run(way, self.own)
            self.assertGreater(len(kinds(text)), 8)
            self.assertTrue(all(n == equal for n, equal in kinds(text).values()), text)
            self.assertRegex(text, r"logits (\d+) equal \1 off 0\n")

    def test_a_changed_bit_is_found_and_taken_over(self):
        found = kinds(run("--follow", self.changed()))
        self.assertEqual(found["embedding"], (1, 0))
        # What follows computes with the changed bit: the other run did not, so something behind it differs as well.
        self.assertLess(sum(equal for _, equal in found.values()), sum(n for n, _ in found.values()) - 1)
        self.assertEqual(kinds(run("--alone", self.changed()))["rmsnorm"][0], found["rmsnorm"][0])

    def test_another_run_is_refused(self):
        short = folder / "short"
        short.write_bytes(self.own.read_bytes()[:-9])
        self.assertIn("not the same launches", run("--follow", short, code=1))
        run("--follow", folder / "absent", code=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

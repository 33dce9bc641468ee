# SPDX-License-Identifier: Apache-2.0
"""Callers of another release: older and newer structs, for every operator, give the bits that today's give.

One program is run on today's library and on the next release's, where each struct has grown by a field
(next_release.py). It was linked with today's library, so the second run is an old binary on a newer library.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def sizes_today():
    return dict(re.findall(r"^struct spark_(\w+)_args (\d+)$", (ROOT / "tests/api/layout.snapshot").read_text(), re.M))


def sizes_first():
    lines = (ROOT / "src/ops/first_sizes.txt").read_text().splitlines()
    return dict(line.split() for line in lines if line and line[0] != "#")


def sizes_next():
    return dict(line.split() for line in (OPTIONS.next / "sizes.txt").read_text().splitlines())


def call(library, sizes, name):
    """{operator: hash of its outputs}, and all that was said."""
    OPTIONS.into.mkdir(parents=True, exist_ok=True)
    listing = OPTIONS.into / f"{name}.txt"
    listing.write_text("".join(f"{op} {size}\n" for op, size in sizes.items()))
    env = dict(os.environ, LD_LIBRARY_PATH=str(library.parent), LIBSPARK_DRIVER=OPTIONS.driver)
    result = subprocess.run([OPTIONS.caller, listing], env=env, capture_output=True, text=True, timeout=120)
    if result.returncode:
        raise AssertionError(f"{name}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return dict(re.findall(r"^(\w+) ([0-9a-f]{16})$", result.stdout, re.M)), result.stdout


class Callers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wanted, _ = call(OPTIONS.library, sizes_today(), "today")

    def test_every_operator_is_called(self):
        self.assertEqual(set(self.wanted), set(sizes_today()))

    def test_first_structs_on_this_library(self):
        self.assertEqual(call(OPTIONS.library, sizes_first(), "first")[0], self.wanted)

    def test_this_program_on_the_next_library(self):
        self.assertEqual(call(OPTIONS.next / "libspark.so.0", sizes_today(), "old-binary")[0], self.wanted)

    def test_next_structs_on_this_library(self):
        found, said = call(OPTIONS.library, sizes_next(), "newer-caller")
        self.assertEqual(found, self.wanted)
        self.assertEqual(said.count("a set byte is refused"), len(self.wanted), said)

    def test_next_structs_on_the_next_library(self):
        found, said = call(OPTIONS.next / "libspark.so.0", sizes_next(), "next")
        self.assertEqual(found, self.wanted)
        self.assertNotIn("refused", said)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--caller", type=pathlib.Path, required=True, help="the program api-caller")
    parser.add_argument("--library", type=pathlib.Path, required=True, help="today's libspark.so.0")
    parser.add_argument("--next", type=pathlib.Path, required=True, help="the folder of the next release's")
    parser.add_argument("--driver", required=True)
    parser.add_argument("--into", type=pathlib.Path, required=True, help="a folder for files of the test")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])

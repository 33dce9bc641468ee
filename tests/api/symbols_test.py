# SPDX-License-Identifier: Apache-2.0
"""What libspark.so shows to the dynamic linker: what it needs, what it offers, and nothing else. And libspark.a.

Run by CTest; `python3 tests/api/symbols_test.py --library build/lib/libspark.so` runs it alone.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY = pathlib.Path("build/release/lib/libspark.so")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(*command):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout


def dynamic_symbols():
    """(type letter, name without version, version) of every defined dynamic symbol."""
    found = []
    for line in tool("nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY).splitlines():
        _, letter, name = line.split(maxsplit=2)
        base, _, version = name.partition("@")
        found.append((letter, base, version.lstrip("@")))
    return found


def declared():
    header = (ROOT / "include/spark.h").read_text()
    return set(re.findall(r"SPARK_API[^;()]*?\b(spark_\w+)\(", header))


class Symbols(unittest.TestCase):
    def test_needs_only_libc(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", tool("readelf", "-d", LIBRARY)))
        allowed = re.compile(r"libc\.so\.6|libm\.so\.6|libdl\.so\.2|ld-linux.*")
        self.assertEqual({n for n in needed if not allowed.fullmatch(n)}, set())

    def test_soname(self):
        self.assertRegex(tool("readelf", "-d", LIBRARY), r"\(SONAME\).*\[libspark\.so\.0\]")

    def test_no_text_relocations_and_no_executable_stack(self):
        self.assertNotIn("TEXTREL", tool("readelf", "-d", LIBRARY))
        self.assertRegex(tool("readelf", "-lW", LIBRARY), r"GNU_STACK\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+\s+RW\s")

    def test_exports_equal_the_committed_list(self):
        committed = (ROOT / "tests/api/exports.txt").read_text().split()
        found = [f"{name}@@{version}" for letter, name, version in dynamic_symbols() if letter != "A"]
        self.assertEqual(found, committed)

    def test_exports_equal_the_header(self):
        self.assertEqual({name for letter, name, _ in dynamic_symbols() if letter != "A"}, declared())

    def test_the_archive_defines_names_of_ours_alone(self):
        """A program may link with it and with a zstd of its own. Weak names are templates of the C++ library."""
        lines = tool("nm", "-g", "--defined-only", LIBRARY.with_name("libspark.a")).splitlines()
        strong = [name for _, letter, name in map(str.split, filter(re.compile(r"[0-9a-f]+ [A-U] ").match, lines))]
        self.assertIn("spark_context_create", strong)
        self.assertEqual([name for name in strong if not re.match(r"spark_|_ZN?K?5?.*5spark", name)], [])

    def test_every_export_is_a_versioned_function_of_ours(self):
        for letter, name, version in dynamic_symbols():
            if letter == "A":  # the version node itself
                self.assertRegex(name, r"^SPARK_\d+\.\d+$")
                continue
            self.assertTrue(name.startswith("spark_"), name)
            self.assertEqual(letter, "T", f"{name} is '{letter}': weak, unique or data")
            self.assertRegex(version, r"^SPARK_\d+\.\d+$", name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=pathlib.Path, default=LIBRARY)
    known, rest = parser.parse_known_args()
    LIBRARY = known.library.resolve()
    unittest.main(argv=[sys.argv[0], *rest])

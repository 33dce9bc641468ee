# SPDX-License-Identifier: Apache-2.0
"""The ABI of libspark.so beside the committed one: libabigail reads the binary's debug information, and the layout
snapshot says the rest. Breaks that are planted here show that both would notice.

Run by CTest. `python3 tests/api/abi_test.py --update` accepts today's ABI as the baseline: see docs/abi.md.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASELINE = ROOT / "tests/api/baseline"
SNAPSHOT = ROOT / "tests/api/layout.snapshot"
HEADER = (ROOT / "include/spark.h").read_text()
sys.path.append(str(ROOT / "tools/specgen"))
import layout  # noqa: E402

DUMP = ["abidw", "--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed", "--no-show-locs",
        "--no-parameter-names", "--no-write-default-sizes", "--drop-private-types", "--type-id-style", "hash"]
FILTERED = r"(?: \(\d+ filtered out\))?"
# The lines of a report that tell of fields added at the end of a struct that may grow, and of nothing else.
GROWTH = [rf"Functions changes summary: 0 Removed, \d+ Changed{FILTERED}, 0 Added{FILTERED} functions?",
          r"Variables changes summary: 0 Removed, 0 Changed, 0 Added variable", r"\d+ functions? with some indirect .*",
          r"\[C\] 'function .* has some indirect sub-type changes:",
          rf"parameter \d+ of type '(?:const )?{layout.GROWS}\*' .*",
          r"in (?:pointed to|unqualified underlying) type .*:", rf"underlying type 'struct {layout.GROWS}' changed:",
          r"type size changed from (?P<old>\d+) to \d+ \(in bits\)", r"\d+ data member insertions?:",
          r"no data member changes \(\d+ filtered\);",  # of what may be added to enums of fields that stay
          r"'.*', at offset (?P<new>\d+) \(in bits\).*"]


def run(*words, cwd=None):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=cwd)


def stub(header, into, left_out=""):
    """A library that declares and defines what `header` says, with debug information; no code behind it."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=into))
    (folder / "spark.h").write_text(header)
    prototypes = re.findall(r"SPARK_API ([^;#]*?\));", layout.plain(header))
    (folder / "stub.c").write_text('#include "spark.h"\n' + "".join(
        f"{' '.join(text.split())} {{ __builtin_trap(); }}\n" for text in prototypes
        if not left_out or f"{left_out}(" not in text))
    (folder / "exports.map").write_text(layout.version_script(header))
    library = folder / "libspark.so.0"
    made = run(os.environ.get("CC", "cc"), "-std=c11", "-g", "-fPIC", "-shared", "-fvisibility=hidden",
               "-Wl,-soname,libspark.so.0", f"-Wl,--version-script={folder / 'exports.map'}", "stub.c",
               "-o", library, cwd=folder)  # by its name alone: the path is none of the baseline's business
    if made.returncode:
        raise AssertionError(made.stderr)
    return library


def growth_only(report):
    """Whether a report tells of nothing but fields behind the end of structs that may grow."""
    end = 0
    for line in filter(None, map(str.strip, report.splitlines())):
        found = next((match for rule in GROWTH if (match := re.fullmatch(rule, line))), None)
        if not found:
            return False
        end = int(found.groupdict().get("old") or end)
        if int(found.groupdict().get("new") or end) < end:
            return False
    return True


def complaints(library, snapshot, baseline=BASELINE):
    """What of the baseline does not hold any more; empty when every program built for it still runs."""
    result = run("abidiff", "--no-architecture", "--no-corpus-path", "--no-added-syms", "--fail-no-debug-info",
                 baseline / "libspark.abi", library)
    broken = layout.broken_lines((baseline / "layout.snapshot").read_text(), snapshot)
    if result.returncode & 3:
        broken.append(result.stderr or "abidiff failed")
    elif result.returncode & 8 or result.returncode & 4 and not growth_only(result.stdout):
        broken.append(result.stdout)
    return "\n".join(broken)


def update():
    with tempfile.TemporaryDirectory() as folder:
        library = stub(HEADER, folder)
        result = run(*DUMP, "--headers-dir", library.parent, library)
    if result.returncode:
        sys.exit(result.stderr)
    (BASELINE / "libspark.abi").write_text(result.stdout)
    shutil.copyfile(SNAPSHOT, BASELINE / "layout.snapshot")


class Abi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def changed(self, pattern, replacement):
        """What is said of a header in which the pattern's first match is replaced."""
        header, count = re.subn(pattern, replacement, HEADER, count=1)
        self.assertEqual(count, 1, pattern)
        return complaints(stub(header, self.folder), layout.snapshot(header))

    def test_this_library_keeps_the_baseline(self):
        self.assertEqual(complaints(LIBRARY, SNAPSHOT.read_text()), "",
                         "meant? then: python3 tests/api/abi_test.py --update")

    def test_a_removed_function_is_noticed(self):
        library = stub(HEADER, self.folder, left_out="spark_stream_query")
        self.assertIn("spark_stream_query", complaints(library, SNAPSHOT.read_text()))

    def test_a_changed_parameter_is_noticed(self):
        found = self.changed(r"(spark_mem_free\(spark_context \*ctx, )spark_devptr", r"\1uint32_t")
        self.assertIn("spark_mem_free", found)

    def test_a_changed_field_is_noticed(self):
        self.assertIn("type of 'float scale' changed", self.changed(r"float scale;", "int32_t scale;"))

    def test_exchanged_fields_are_noticed(self):
        swapped = self.changed(r"uint32_t cc_major;\s+uint32_t cc_minor;", "uint32_t cc_minor; uint32_t cc_major;")
        self.assertIn("cc_major", swapped)

    def test_a_field_in_the_middle_is_noticed(self):
        found = self.changed(r"(typedef struct spark_softmax_args \{\s+spark_args hdr;)", r"\1 uint64_t added;")
        self.assertIn("spark_softmax_args", found)

    def test_a_renumbered_enum_is_noticed(self):
        self.assertIn("SPARK_DTYPE_F16", self.changed("SPARK_DTYPE_F16 = 2", "SPARK_DTYPE_F16 = 6"))
        self.assertIn("SPARK_RECORD_Q8_0", self.changed("SPARK_RECORD_Q8_0 = 8", "SPARK_RECORD_Q8_0 = 9"))

    def test_a_struct_that_stands_inside_others_does_not_grow(self):
        self.assertIn("spark_quant", self.changed("} spark_quant;", "uint64_t added; } spark_quant;"))

    def test_what_may_be_added_passes(self):
        self.assertEqual(self.changed("} spark_exec;", "uint64_t added; } spark_exec;"), "")
        self.assertEqual(self.changed("} spark_softmax_args;", "uint64_t added; } spark_softmax_args;"), "")
        self.assertEqual(self.changed("(SPARK_DTYPE_DEVPTR = 48,)", r"\1 SPARK_DTYPE_ADDED = 49,"), "")
        self.assertEqual(self.changed("(SPARK_API uint32_t spark_ver)", r"SPARK_API void spark_more(void);\n\1"), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=pathlib.Path, help="one with debug information of what it exports")
    parser.add_argument("--update", action="store_true", help="write the baseline anew")
    options, rest = parser.parse_known_args()
    if not shutil.which("abidiff"):
        print("abi_test.py: there is no abidiff (Debian: abigail-tools): the ABI is not compared")
        sys.exit(77)
    if options.update:
        sys.exit(update())
    LIBRARY = options.library
    unittest.main(argv=[sys.argv[0], *rest])

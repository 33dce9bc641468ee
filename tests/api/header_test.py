# SPDX-License-Identifier: Apache-2.0
"""The public header is plain C99: every compiler and every binding generator takes it without a word.

Run by CTest; `python3 tests/api/header_test.py --include include` runs it alone. Knows nothing of the library itself.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

INCLUDE = pathlib.Path("include")


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    return done.returncode, done.stdout + done.stderr


class Header(unittest.TestCase):
    def compile(self, compiler, language, *flags):
        if not shutil.which(compiler):
            self.fail(f"{compiler} is not installed; tools/spark test installs it")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / ("alone.c" if language == "c" else "alone.cpp")
            # Included twice, and first: it must bring everything that it needs itself.
            source.write_text('#include "spark.h"\n#include "spark.h"\nint spark_header_stands_alone;\n')
            warnings = ("-Wall", "-Wextra", "-Werror")
            code, text = run(compiler, "-x", language, *flags, *warnings, "-I", INCLUDE, "-fsyntax-only", source)
        self.assertEqual((code, text), (0, ""), f"{compiler} {' '.join(flags)}")

    def test_c99_pedantic_without_padding(self):
        for compiler in ("gcc", "clang"):
            self.compile(compiler, "c", "-std=c99", "-pedantic", "-Wpadded")

    def test_c11(self):
        for compiler in ("gcc", "clang"):
            self.compile(compiler, "c", "-std=c11", "-pedantic", "-Wpadded")

    def test_cpp17(self):
        for compiler in ("g++", "clang++"):
            self.compile(compiler, "c++", "-std=c++17", "-pedantic", "-Wpadded")

    def test_bindgen_says_nothing(self):
        self.assertTrue(shutil.which("bindgen"), "bindgen is not installed; tools/spark test installs it")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "spark.rs"
            # unformatted: a machine with bindgen need not have rustfmt, and what it lacks is not the header's fault
            code, text = run("bindgen", "--no-rustfmt-bindings", INCLUDE / "spark.h", "--allowlist-function",
                             "spark_.*", "--allowlist-type", "spark_.*", "-o", out)
            self.assertEqual((code, text.strip()), (0, ""))
            rust = out.read_text()
        self.assertRegex(rust, r"pub\s+struct\s+spark_tensor\b")
        self.assertNotIn("__bindgen_padding", rust, "hidden padding in a struct")

    def test_swig_says_nothing(self):
        self.assertTrue(shutil.which("swig"), "swig is not installed; tools/spark test installs it")
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder) / "sparkc.i"
            module.write_text('%module sparkc\n%{\n#include "spark.h"\n%}\n%include <stdint.i>\n%include "spark.h"\n')
            code, text = run("swig", "-python", "-builtin", "-Wall", f"-I{INCLUDE.resolve()}", module, cwd=folder)
        self.assertEqual((code, text.strip()), (0, ""))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", default=os.environ.get("SPARK_INCLUDE", "include"), type=pathlib.Path)
    known, rest = parser.parse_known_args()
    INCLUDE = known.include
    unittest.main(argv=[sys.argv[0], *rest])

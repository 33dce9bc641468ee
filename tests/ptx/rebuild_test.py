# SPDX-License-Identifier: Apache-2.0
# The build of the kernel folder, driven by CMake with Ninja and with Make: what an edit assembles again, and what a
# broken kernel makes it say. Run by CTest as ptx.rebuild. Needs cmake and ptxas.
import re
import shutil
import subprocess
import sys
import time
import unittest

from support import BODY, HEADER, PTXAS, TOP, ScratchTree, changed

TICK = 0.1  # seconds: more than a file system's clock takes from one time to the next
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(scratch LANGUAGES C CXX ASM)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_subdirectory(ptx)
"""


@unittest.skipUnless(PTXAS and shutil.which("cmake"), "SPARK_PTXAS or cmake is missing")
class Rebuild(ScratchTree):
    def setUp(self):
        super().setUp()
        (self.top / "CMakeLists.txt").write_text(PROJECT)
        shutil.copy(TOP / "ptx" / "CMakeLists.txt", self.root)
        for name in ("tools", "src"):
            (self.top / name).symlink_to(TOP / name)
        self.plant("fill/fill.ptx", HEADER + BODY)
        self.plant("lib/more.ptxh", "#define MORE(r) add.u64 r, r, 4\n")
        self.flood = self.plant("flood/flood.ptx", changed(HEADER, ("fill ", "flood ")) + changed(
            BODY, ('"base.ptxh"', '"base.ptxh"\n#include "more.ptxh"'), ("    ret;", "    MORE(to);\n    ret;")))

    def cmake(self, *arguments):
        return subprocess.run(["cmake", *arguments], cwd=self.top, capture_output=True, text=True, check=False)

    def configure(self, generator, *more):
        return self.cmake("-S", ".", "-B", "build", "-G", generator, f"-DSPARK_PTXAS={PTXAS}",
                          f"-DPython3_EXECUTABLE={sys.executable}", *more)

    def built(self):
        """The kernel files assembled by one build."""
        done = self.cmake("--build", "build", "--", "-j2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return sorted(re.findall(r"Assembling (\S+)", done.stdout))

    def what_is_built_again(self, generator):
        done = self.configure(generator)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.built(), ["fill/fill.ptx", "flood/flood.ptx"])
        self.assertEqual(self.built(), [], "nothing changed")
        time.sleep(TICK)
        fill = self.root / "fill" / "fill.ptx"
        fill.write_text(changed(fill.read_text(), ("    ret;", "    ret; // edited")))
        self.assertEqual(self.built(), ["fill/fill.ptx"], "one kernel edited")
        self.assertEqual(self.built(), [], "nothing changed")
        time.sleep(TICK)
        (self.root / "lib" / "more.ptxh").write_text("#define MORE(r) add.u64 r, r, 8\n")
        self.assertEqual(self.built(), ["flood/flood.ptx"], "a macro file edited: its users only")
        time.sleep(TICK)
        base = self.root / "lib" / "base.ptxh"
        base.write_text(base.read_text() + "// edited\n")
        self.assertEqual(self.built(), ["fill/fill.ptx", "flood/flood.ptx"], "everyone's macro file edited")
        time.sleep(TICK)
        self.flood.write_text(changed(self.flood.read_text(), (
            "smem=0 regs=32\n", "smem=0 regs=32\n//! variant  twice   smem=0 regs=40\n")))
        self.assertEqual(self.built(), ["flood/flood.ptx"], "a variant added")
        self.assertEqual(self.built(), [], "nothing changed, of two kernels in a file")
        self.assertIn("&flood__twice,", (self.top / "build" / "ptx" / "spark_kernels.cpp").read_text())
        time.sleep(TICK)
        self.flood.unlink()
        self.assertEqual(self.built(), [], "a kernel removed")
        self.assertNotIn("flood", (self.top / "build" / "ptx" / "spark_kernels.cpp").read_text())

    @unittest.skipUnless(shutil.which("ninja"), "ninja is not here")
    def test_ninja(self):
        self.what_is_built_again("Ninja")

    @unittest.skipUnless(shutil.which("make"), "make is not here")
    def test_make(self):
        self.what_is_built_again("Unix Makefiles")

    def test_messages(self):
        generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
        self.assertIn("SPARK_PTXAS is '/nowhere/ptxas'", re.sub(r"\s+", " ", self.configure(
            generator, "-DSPARK_PTXAS=/nowhere/ptxas").stderr))
        self.assertEqual(self.configure(generator).returncode, 0)
        self.flood.write_text(changed(self.flood.read_text(), ("regs=32", "regs=4")))
        done = self.cmake("--build", "build", "--", "-j1")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr,
                         r"ptx/flood/flood.ptx:9: flood__plain for sm_120f: \d+ registers used, regs=4 declared")
        self.flood.write_text(changed(self.flood.read_text(), (" regs=4", "")))
        done = self.configure(generator)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ptx/flood/flood.ptx:9: variant plain: regs= is missing", done.stderr)


if __name__ == "__main__":
    unittest.main()

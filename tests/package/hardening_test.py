# SPDX-License-Identifier: Apache-2.0
"""What cmake/SparkHardening.cmake promises, looked up in each file that was built: in a whole build folder, and in that
for 64-bit Arm (tests/cross). Run by CTest."""
import re
import unittest
from pathlib import Path

import common
import elf
from common import options, run

# With all that the compiler brings: what even this lacks, ours may lack.
PLAIN = "#include <string>\nint main(int n, char** words) { return std::stoi(std::string(words[n - 1])); }\n"
RUNTIME = ["-static-libstdc++", "-static-libgcc"]
CHECKS = {"x86_64": ("-fcf-protection", {"IBT", "SHSTK"}), "aarch64": ("-mbranch-protection=standard", {"BTI", "PAC"})}


def compiler():
    described = next(options.build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
    return re.search(r'^set\(CMAKE_CXX_COMPILER "(.+)"\)$', described, re.M)[1]


def machine():
    said = elf.said("readelf", "-h", options.build / "lib/libspark.so.0")
    return "aarch64" if "AArch64" in said else "x86_64" if "X86-64" in said else None


class Hardening(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folders = [options.build / "lib", options.build / "bin"]
        others = ["python/clean/**/_sparkc*.so", "serve/target/*/generate", "serve/target/*/serve"]
        found = [*(path for folder in folders for path in folder.iterdir()),
                 *(path for pattern in others for path in (options.build / "bindings").glob(pattern))]
        cls.linked = [path for path in found
                      if path.is_file() and not path.is_symlink() and elf.is_linked(path)]
        cls.libraries = [path for path in cls.linked if path.name in ("libspark.so.0", "libspark-emu.so")]

    def test_a_weak_program_is_noticed(self):
        source, weak = options.into / "weak.cpp", options.into / "weak"
        source.write_text(PLAIN)
        run(compiler(), "-no-pie", "-Wl,-z,lazy,-z,norelro,-z,execstack", "-o", weak, source)
        self.assertEqual(elf.weaknesses(weak),
                         ["not at a random place", "GNU_STACK is RWE", "no GNU_RELRO", "binds late"])

    def test_the_loader_protects_each_file(self):
        self.assertIn("libspark.so.0", [path.name for path in self.linked])
        for path in self.linked:
            with self.subTest(path.name):
                self.assertEqual(elf.weaknesses(path), [])

    def test_the_stack_has_canaries(self):
        for path in self.libraries:
            with self.subTest(path.name):
                self.assertIn("__stack_chk_fail", elf.imported(path))

    def test_calls_of_libc_are_checked(self):
        for path in self.libraries:
            with self.subTest(path.name):
                self.assertTrue({name for name in elf.imported(path) if name.endswith("_chk")}, "no size is checked")

    def test_each_object_is_fit_for_the_checks_of_the_processor(self):
        if machine() not in CHECKS:
            self.skipTest("this processor has none that are known here")
        wanted = CHECKS[machine()][1]
        archives = [options.build / "lib" / name for name in ("libspark.a", "libemu_engine.a")]
        for path in filter(Path.exists, archives):
            with self.subTest(path.name):
                found = elf.properties(path)
                self.assertGreater(len(found), 20)
                self.assertEqual([member for member, marks in found.items() if not wanted <= marks], [])

    def test_what_is_linked_is_as_fit_as_the_toolchain_lets_it_be(self):
        """A single object without the mark takes it from the whole file, and some C libraries start with such a one."""
        if machine() not in CHECKS:
            self.skipTest("this processor has none that are known here")
        source, plain = options.into / "plain.cpp", options.into / "plain.so"
        source.write_text(PLAIN)
        run(compiler(), "-shared", "-fPIC", CHECKS[machine()][0], *RUNTIME, "-o", plain, source)
        possible, = elf.properties(plain).values()
        print(f"The toolchain allows {' '.join(sorted(possible)) or 'no marks'}.")
        for path in self.libraries:
            with self.subTest(path.name):
                found, = elf.properties(path).values()
                self.assertLessEqual(possible, found)


if __name__ == "__main__":
    common.main(common.missing("readelf", "nm"))

# SPDX-License-Identifier: Apache-2.0
"""The installed library as programs find and use it: by pkg-config, by CMake, shared and static, and by dlopen. What is
installed is moved before it is used. Run by CTest."""
import itertools
import re
import shutil
import unittest

import common
from common import ROOT, install, library_folder, needed, options, run

EXAMPLES = ROOT / "examples"
CC = ("cc", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror")
CXX = ("c++", "-std=c++17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")


def moved(name, *components):
    """A prefix that is not where it was installed."""
    first, last = options.into / f"{name}-first", options.into / name
    for folder in (first, last):
        shutil.rmtree(folder, ignore_errors=True)
    return install(first, *components).rename(last)


def environment(prefix):
    folder = library_folder(prefix)
    return {"PKG_CONFIG_PATH": str(folder / "pkgconfig"), "LD_LIBRARY_PATH": str(folder),
            "LIBSPARK_DRIVER": options.driver}


def flags(prefix, *words):
    return run("pkg-config", *words, "libspark", env=environment(prefix)).split()


class Use(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = moved("all", "runtime", "devel", "static")
        cls.archive = moved("archive", "devel", "static")  # nothing shared: -lspark is the archive

    def program(self, prefix, name, *command):
        """Compiles a program and gives what it says."""
        path = options.into / name
        run(*command, "-o", path)
        return path, run(path, env=environment(prefix))

    def test_pkg_config(self):
        run("pkg-config", "--validate", "libspark", env=environment(self.all))
        path, said = self.program(self.all, "c-shared", *CC, EXAMPLES / "decode_step/decode_step.c",
                                  *flags(self.all, "--cflags", "--libs"))
        common.compare_decode_step(self, said)
        self.assertIn("libspark.so.0", needed(path))

    def test_pkg_config_static(self):
        path, said = self.program(self.archive, "c-static", *CC, EXAMPLES / "decode_step/decode_step.c",
                                  *flags(self.archive, "--static", "--cflags", "--libs"))
        common.compare_decode_step(self, said)
        self.assertFalse([name for name in needed(path) if "spark" in name or "stdc++" in name])

    def test_pkg_config_words(self):  # what cgo lets through
        for word in flags(self.all, "--static", "--cflags", "--libs"):
            self.assertRegex(word, r"^-[ILl]")

    def test_cxx_under_sanitizers(self):
        _, said = self.program(self.all, "cxx-sanitized", *CXX, "-g1", "-fsanitize=address,undefined",
                               "-fno-sanitize-recover=undefined", EXAMPLES / "decode_step/decode_step.cpp",
                               *flags(self.all, "--cflags", "--libs"))
        common.compare_decode_step(self, said)

    def test_cxx_standards(self):
        compilers = [name for name in ("c++", "g++", "clang++") if shutil.which(name)]
        for compiler, standard in itertools.product(compilers, ("c++17", "c++20")):
            run(compiler, *CXX[1:], f"-std={standard}", "-fsyntax-only", EXAMPLES / "decode_step/decode_step.cpp",
                *flags(self.all, "--cflags"))

    def test_versions(self):
        header = (ROOT / "include/spark.h").read_text()
        major, minor, patch, abi = (re.search(rf"#define SPARK_{name} (\d+)", header)[1]
                                    for name in ("VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH", "ABI"))
        self.assertEqual(flags(self.all, "--modversion"), [f"{major}.{minor}.{patch}"])
        self.assertEqual(flags(self.all, "--variable=abi"), [abi])
        self.assertTrue((library_folder(self.all) / f"libspark.so.{abi}").exists())
        debian = (ROOT / "packaging/debian/changelog").read_text()
        self.assertTrue(debian.startswith(f"libspark ({major}.{minor}.{patch}-"))

    def test_dlopen(self):
        path = options.into / "c-dlopen"
        run(*CC, "-o", path, EXAMPLES / "dlopen/dlopen.c", *flags(self.all, "--cflags"), "-ldl")
        self.assertFalse([name for name in needed(path) if "spark" in name])
        self.assertIn("0x3f80", run(path, env=environment(self.all)))
        self.assertIn("without libspark: libspark.so.0", run(path, code=2, env={"LD_LIBRARY_PATH": ""}))


class FindPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = moved("cmake", "runtime", "devel", "static")
        cls.shared = moved("cmake-shared", "runtime", "devel")

    def configure(self, prefix, name, source, *words, code=0):
        build = options.into / name
        shutil.rmtree(build, ignore_errors=True)
        said = run("cmake", "-G", "Ninja", "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}",
                   "-DCMAKE_BUILD_TYPE=Release", *words, code=code)
        return build, said

    def consumer(self, name, library, *words):
        build, _ = self.configure(self.prefix, name, ROOT / "tests/package/consumer", "-DWAY=find",
                                  f"-DLIBRARY={library}", f"-DPROGRAM={EXAMPLES / 'first/first.c'}", *words)
        run("cmake", "--build", build)
        self.assertIn("0x3f80", run(build / "consumer", env={"LIBSPARK_DRIVER": options.driver}))
        return needed(build / "consumer")

    def test_the_example(self):
        build, _ = self.configure(self.shared, "cmake-example", EXAMPLES / "decode_step")
        run("cmake", "--build", build)
        common.compare_decode_step(self, run(build / "decode_step", env={"LIBSPARK_DRIVER": options.driver}))

    def test_shared(self):
        self.assertIn("libspark.so.0", self.consumer("cmake-c", "libspark::spark"))

    def test_static_in_a_project_without_cxx(self):
        found = self.consumer("cmake-static", "libspark::spark_static", "-DCOMPONENTS=static")
        self.assertFalse([name for name in found if "spark" in name or "stdc++" in name])

    def test_what_is_not_there(self):
        consumer = ROOT / "tests/package/consumer"
        for words, sentence in ((("-DCOMPONENTS=static",), "libspark_FOUND to FALSE"),
                                (("-DVERSION=0.2",), 'compatible with requested version "0.2"'),
                                (("-DVERSION=0.0.9",), "compatible with requested version")):
            _, said = self.configure(self.shared, "cmake-missing", consumer, "-DWAY=find", *words, code=1)
            self.assertIn(sentence, " ".join(said.split()))


if __name__ == "__main__":
    common.main(common.missing("cmake", "ninja", "pkg-config", "readelf", "cc", "c++"))

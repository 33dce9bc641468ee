# SPDX-License-Identifier: Apache-2.0
"""Where kernels' code is read from: the library itself, and for compute capability 9.0 the file beside it, whole,
missing, of another build, cut short and damaged. Each case is a copy of the library in a folder of its own, and runs
in a process of its own on the emulator.

Run by CTest; `images_test.py --lib build/release/lib --load PROFILE` times the loading of all kernels instead; with
gpu for PROFILE on the card.
"""
import argparse
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FILE = "libspark-sm90.bin"
INTERNAL, UNSUPPORTED_ARCH = "SPARK_ERR_INTERNAL", "SPARK_ERR_UNSUPPORTED_ARCH"


class Desc(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("offline_arch", ctypes.c_uint32), ("cu_context", ctypes.c_uint64)]


class Error(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("status", ctypes.c_int32), ("driver_code", ctypes.c_int32),
                ("op", ctypes.c_uint32), ("field", ctypes.c_uint32), ("message", ctypes.c_char * 1024)]


class Library:
    def __init__(self, folder):
        self.spark = ctypes.CDLL(str(folder / "libspark.so.0"))
        self.spark.spark_status_name.restype = ctypes.c_char_p
        self.error = Error(struct_size=ctypes.sizeof(Error))
        self.context = ctypes.c_void_p()

    def say(self, what, status):
        print(what, self.spark.spark_status_name(status).decode(), self.error.message.decode(), flush=True)
        return status == 0

    def create(self, offline):
        desc = Desc(struct_size=ctypes.sizeof(Desc), offline_arch=offline)
        return self.spark.spark_context_create(ctypes.byref(desc), ctypes.byref(self.context),
                                               ctypes.byref(self.error))

    def preload(self, op):
        return self.spark.spark_context_preload(self.context, op, ctypes.byref(self.error))


def load(folder, steps):
    """The child's part: says what each step answered."""
    library = Library(folder)
    for step in steps:
        if step == "create" and not library.say(step, library.create(0)):
            return
        if step == "offline":
            library.say(step, library.create(90))
        if step == "preload":
            library.say(step, library.preload(0))
        if step == "remove":
            (folder / FILE).unlink()


def measure(folder):
    library = Library(folder)
    library.create(0)
    began = time.perf_counter()
    library.preload(1)
    first = time.perf_counter()
    library.preload(0)
    done = time.perf_counter()
    print(f"operator 1: {1e3 * (first - began):.1f} ms; all the others: {1e3 * (done - first):.1f} ms")


class Images(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("libspark.so.0", "libspark-emu.so", FILE):
            shutil.copy(LIB / name, self.folder)
        self.file = self.folder / FILE

    def run_steps(self, *steps, profile="h200"):
        env = dict(os.environ, LIBSPARK_DRIVER=str(self.folder / "libspark-emu.so"), LIBSPARK_EMU=f"profile={profile}")
        done = subprocess.run([sys.executable, __file__, "--lib", self.folder, "--steps", *steps], env=env,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.split(" ", 2) for line in done.stdout.splitlines()]

    def refused(self, answers, status, *words):
        _, found, message = answers[-1]
        self.assertEqual(found, status, message)
        for word in words:
            self.assertIn(word, message)

    def loads(self, answers, count):
        self.assertEqual([status for _, status, _ in answers], ["SPARK_OK"] * count, answers)

    def damage(self, places):
        content = bytearray(self.file.read_bytes())
        for at in places:
            content[at] ^= 1
        self.file.write_bytes(content)

    def test_whole(self):
        self.loads(self.run_steps("create", "preload"), 2)

    def test_a_release_needs_no_file(self):
        self.file.unlink()
        self.loads(self.run_steps("create", "preload", profile="gb10"), 2)
        self.loads(self.run_steps("create", "preload", profile="rtx5090"), 2)
        self.loads(self.run_steps("offline"), 1)

    def test_missing(self):
        self.file.unlink()
        self.refused(self.run_steps("create"), UNSUPPORTED_ARCH, "compute capability 9.0, which is for testing",
                     f"{FILE}, which is not beside {self.folder}/libspark.so.0")

    def test_missing_when_a_kernel_is_loaded(self):
        self.refused(self.run_steps("create", "remove", "preload"), UNSUPPORTED_ARCH, f"{FILE}, which is not beside")

    def test_of_another_build(self):
        head, _, rest = self.file.read_bytes().partition(b"\n")
        for other in (head[:-1] + (b"1" if head[-1:] == b"0" else b"0") + b"\n" + rest, b"", b"something else", head):
            self.file.write_bytes(other)
            self.refused(self.run_steps("create"), UNSUPPORTED_ARCH, FILE, "of another build than")

    def test_another_size(self):
        content = self.file.read_bytes()
        for other in (content[:-1], content[:200], content + b"\0"):
            self.file.write_bytes(other)
            self.refused(self.run_steps("create"), UNSUPPORTED_ARCH, FILE, "cut short or too long")

    def test_no_file_at_all(self):
        self.file.unlink()
        self.file.mkdir()
        self.refused(self.run_steps("create"), UNSUPPORTED_ARCH, FILE)

    def test_damaged(self):
        """A bit here and there, since the emulator reads no cubins; the end of the file is PTX."""
        size = self.file.stat().st_size
        for first in (200, size // 2, size - 1):
            with self.subTest(first):
                shutil.copy(LIB / FILE, self.folder)
                self.damage(range(first, size, 4096))
                answers = self.run_steps("create", "preload")
                self.assertEqual(answers[0][1], "SPARK_OK")
                self.refused(answers, INTERNAL, "is damaged in " + FILE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lib", type=pathlib.Path, required=True)
    parser.add_argument("--steps", nargs="+")
    parser.add_argument("--load")
    options, rest = parser.parse_known_args()
    LIB = options.lib.absolute()
    if options.steps:
        load(LIB, options.steps)
    elif options.load:
        os.environ["LIBSPARK_DRIVER"] = "gpu" if options.load == "gpu" else str(LIB / "libspark-emu.so")
        if options.load != "gpu":
            os.environ["LIBSPARK_EMU"] = f"profile={options.load}"
        measure(LIB)
    else:
        unittest.main(argv=[sys.argv[0], *rest])

# SPDX-License-Identifier: Apache-2.0
#
# The pinned wheels: fetched by pip from a local folder here, refused when the hash differs. And the choice of ptxas.
import hashlib
import io
import os
import platform
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import ptxas  # noqa: E402
import wheels  # noqa: E402

MACHINE = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine())
KNOWN = wheels.pin("ptxas")["version"]


def make_wheel(folder, payload):
    """A wheel named fixture 1.0 that holds bin/tool; returns the hash of its file."""
    path = Path(folder) / "fixture-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bin/tool", payload)
        archive.writestr("bin/lib/data", "data")
        archive.writestr("fixture-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: fixture\nVersion: 1.0\n")
        archive.writestr("fixture-1.0.dist-info/WHEEL",
                         "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("fixture-1.0.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Wheels(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "index").mkdir()
        self.hash = make_wheel(self.folder / "index", "#!/bin/sh\necho here\n")
        reach = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.folder / "index")}
        self.enterContext(mock.patch.dict(os.environ, reach))

    def fetch(self, sha256, **more):
        entry = {"package": "fixture", "version": "1.0", "member": "bin/tool", "why": "a test",
                 "sha256": {MACHINE: sha256}, **more}
        with mock.patch.object(wheels, "pin", lambda name: entry):
            return wheels.fetch("tool", self.folder / "into")

    def test_the_named_program_alone_is_unpacked(self):
        path = self.fetch(self.hash)
        self.assertTrue(os.access(path, os.X_OK))
        self.assertEqual([p.name for p in path.parent.iterdir()], ["tool"])

    def test_a_folder_comes_whole_where_the_pin_says_so(self):
        path = self.fetch(self.hash, beside=True)
        self.assertTrue(os.access(path, os.X_OK))
        self.assertEqual((path.parent / "lib" / "data").read_text(), "data")
        (path.parents[1] / "fetched.sha256").unlink()  # as a fetch that was stopped leaves it
        self.assertEqual(self.fetch(self.hash, beside=True), path)
        self.assertEqual(sorted(p.name for p in path.parent.iterdir()), ["lib", "tool"])

    def test_a_second_fetch_needs_no_index(self):
        first = self.fetch(self.hash)
        (self.folder / "index" / "fixture-1.0-py3-none-any.whl").unlink()
        self.assertEqual(self.fetch(self.hash), first)

    def test_a_wheel_for_each_python(self):
        """That of this Python is wanted: what another one has fetched into the same folder will not do."""
        this = "{}.{}".format(*sys.version_info)
        path = self.fetch({this: self.hash, "2.7": "0" * 64})
        self.assertEqual(self.fetch({this: self.hash, "2.7": "0" * 64}), path)
        with self.assertRaisesRegex(wheels.FetchError, f"no pinned wheel for Python {this} on {MACHINE}"):
            self.fetch({"2.7": self.hash})
        with self.assertRaises(wheels.FetchError):
            self.fetch({this: "0" * 64, "2.7": self.hash})

    def test_a_source_is_unpacked_like_a_wheel(self):
        """Stands as deep as in its package; what is not in the member's folder stays out."""
        path = self.folder / "fixture-1.0.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name in ("fixture-1.0/c/lib/a.h", "fixture-1.0/c/lib/deep/b.c", "fixture-1.0/setup.py"):
                content = name.encode()
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        entry = {"source": True, "member": "fixture-1.0/c/lib/a.h", "beside": True}
        (self.folder / "scratch").mkdir()
        wheels.unpack(path, entry, self.folder / "scratch", self.folder)
        home = self.folder / "fixture-1.0"
        self.assertEqual(sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file()),
                         ["c/lib/a.h", "c/lib/deep/b.c"])

    def test_another_hash_is_refused_and_leaves_nothing(self):
        with self.assertRaises(wheels.FetchError):
            self.fetch("0" * 64)
        self.assertEqual(list((self.folder / "into").rglob("tool")), [])

    def test_present_looks_and_does_not_fetch(self):
        entry = {"package": "fixture", "version": "1.0", "member": "bin/tool", "why": "a test",
                 "sha256": {"any": self.hash}}
        with mock.patch.object(wheels, "pin", lambda name: entry):
            self.assertIsNone(wheels.present("tool", self.folder / "into"))
            path = wheels.fetch("tool", self.folder / "into")  # a wheel for every machine
            self.assertEqual(wheels.present("tool", self.folder / "into"), path)
            entry["sha256"] = {"any": "0" * 64}  # another pin: what is there is not it
            self.assertIsNone(wheels.present("tool", self.folder / "into"))

    def test_every_pin_is_complete(self):
        for name in ("ptxas", "zstd", "zstd-source", "clang-format", "model", "zig"):
            entry = wheels.pin(name)
            self.assertIn(set(entry["sha256"]), ({"x86_64", "aarch64"}, {"any"}))
            for values in entry["sha256"].values():
                for value in [values] if isinstance(values, str) else values.values():
                    self.assertRegex(value, r"^[0-9a-f]{64}$")


class Ptxas(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder, self.said = Path(scratch.name), []
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.folder / 'path'}:/usr/bin:/bin"))
        for name in ("SPARK_PTXAS", "CUDA_HOME", "CUDA_PATH"):
            os.environ.pop(name, None)
        self.enterContext(mock.patch.object(ptxas, "TOOLKITS", self.folder / "toolkits"))
        self.enterContext(mock.patch.object(wheels, "fetch", lambda name, into, say: "fetched"))

    def make(self, where, says):
        """A ptxas in the folder `where` that prints `says`."""
        path = self.folder / where / "ptxas"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{says}\n")
        path.chmod(0o755)
        return path

    def release(self, where, number):
        minor = number.rpartition(".")[0]
        return self.make(where, f"echo 'Cuda compilation tools, release {minor}, V{number}'")

    def choose(self):
        self.said.clear()
        return ptxas.locate("nowhere", self.said.append)

    def test_a_known_toolkit_is_taken_and_nothing_is_said(self):
        path = self.release("path", KNOWN)
        self.assertEqual(self.choose(), path)
        self.assertEqual(self.said, [])

    def test_another_version_gives_way_and_that_is_said(self):
        for number, why in (("12.8.93", "older than 13.0"), ("13.0.1", "do not know"), ("13.9.7", "do not know"),
                            ("130.0.88", "do not know")):
            with self.subTest(number):
                path = self.release("path", number)
                self.assertEqual(self.choose(), "fetched")
                line, = self.said
                self.assertTrue(line.startswith(f"{path} is {number}, ") and why in line, line)
                self.assertEqual(f"SPARK_PTXAS={path}" in line, "older" not in why)
                path.unlink()
                path.parent.rmdir()

    def test_what_is_no_ptxas_gives_way_and_that_is_said(self):
        self.make("toolkits/cuda-3/bin", "printf '\\377\\000V'")
        self.make("toolkits/cuda-2/bin", f"echo V{KNOWN}; exit 1")
        self.make("toolkits/cuda-1/bin", "true").chmod(0o644)
        self.assertEqual(self.choose(), "fetched")
        self.assertEqual(len(self.said), 3)
        for line in self.said:
            self.assertIn("does not run, or does not say its version: passed over", line)

    def test_a_known_one_behind_others_is_taken(self):
        self.release("path", "13.9.7")
        path = self.release("toolkits/cuda-13.0/bin", KNOWN)
        self.assertEqual(self.choose(), path)
        self.assertEqual(len(self.said), 1)

    def test_one_that_is_asked_for_wins(self):
        self.release("path", KNOWN)
        path = self.release("mine", "13.9.7")
        os.environ["SPARK_PTXAS"] = str(path)
        self.assertEqual(self.choose(), path)
        self.assertEqual(self.said, [f"{path} is 13.9.7, which the tests do not know: used, as SPARK_PTXAS asks"])

    def test_one_that_is_asked_for_and_cannot_do_it_is_refused(self):
        self.release("path", KNOWN)
        plain = self.make("plain", "true")
        plain.chmod(0o644)
        for path, why in ((self.release("old", "12.8.93"), "is 12.8.93, older than 13.0"), (plain, "is not a program"),
                          (self.make("other", "echo hello"), "does not say its version"),
                          (self.folder / "none", "is not a program"), (self.folder, "is not a program")):
            os.environ["SPARK_PTXAS"] = str(path)
            with self.subTest(path.name), self.assertRaisesRegex(wheels.FetchError, f"SPARK_PTXAS is '{path}'.*{why}"):
                self.choose()

    def test_cmake_chooses_the_same(self):
        def configure(*words):
            return subprocess.run(["cmake", f"-DPython3_EXECUTABLE={sys.executable}", f"-DPROJECT_SOURCE_DIR={ROOT}",
                                   f"-DPROJECT_BINARY_DIR={self.folder}", *words, "-P",
                                   ROOT / "cmake/SparkPtxas.cmake"], capture_output=True, text=True)
        path, newer = self.release("path", KNOWN), self.release("newer", "13.9.7")
        self.assertIn(f"ptxas: {path}\n", configure().stdout)
        done = configure(f"-DSPARK_PTXAS={newer}")
        self.assertIn(f"ptxas: {newer}\n", done.stdout)
        self.assertIn("do not know: used", done.stderr)
        self.assertNotEqual(configure(f"-DSPARK_PTXAS={self.folder}").returncode, 0)

    def test_the_pinned_one_is_known(self):
        self.assertIn(KNOWN, wheels.pin("ptxas")["known"])

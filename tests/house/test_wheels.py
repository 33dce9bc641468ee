# SPDX-License-Identifier: Apache-2.0
#
# The pinned wheels: fetched by pip from a local folder here, refused when the hash differs. And the choice of ptxas.
import hashlib
import os
import platform
import sys
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


def make_ptxas(folder, release):
    path = Path(folder) / "ptxas"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.99'\n")
    path.chmod(0o755)
    return path


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
        self.assertEqual(sorted(p.name for p in path.parent.iterdir()), ["tool", "wheel.sha256"])

    def test_a_folder_comes_whole_where_the_pin_says_so(self):
        path = self.fetch(self.hash, beside=True)
        self.assertTrue(os.access(path, os.X_OK))
        self.assertEqual((path.parent / "lib" / "data").read_text(), "data")
        path.with_name("wheel.sha256").unlink()  # as a fetch that was stopped leaves it
        self.assertEqual(self.fetch(self.hash, beside=True), path)
        self.assertEqual(sorted(p.name for p in path.parent.iterdir()), ["lib", "tool", "wheel.sha256"])

    def test_a_second_fetch_needs_no_index(self):
        first = self.fetch(self.hash)
        (self.folder / "index" / "fixture-1.0-py3-none-any.whl").unlink()
        self.assertEqual(self.fetch(self.hash), first)

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
        for name in ("ptxas", "clang-format", "model", "zig"):
            entry = wheels.pin(name)
            self.assertIn(set(entry["sha256"]), ({"x86_64", "aarch64"}, {"any"}))
            for value in entry["sha256"].values():
                self.assertRegex(value, r"^[0-9a-f]{64}$")


class Ptxas(unittest.TestCase):
    def choose(self, *found):
        with mock.patch.object(ptxas, "toolkits", lambda: found), \
                mock.patch.object(wheels, "fetch", lambda name, into, say: "fetched"):
            return ptxas.locate("nowhere")

    def test_a_toolkit_that_is_new_enough_is_taken_an_older_one_passed_over(self):
        with tempfile.TemporaryDirectory() as folder:
            older, newer = make_ptxas(f"{folder}/a", "12.8"), make_ptxas(f"{folder}/b", "13.1")
            self.assertEqual(self.choose(older, newer), newer)
            self.assertEqual(self.choose(older), "fetched")
            self.assertEqual(self.choose(Path(folder) / "none"), "fetched")

# SPDX-License-Identifier: Apache-2.0
"""The image of packaging/container, without an engine to build it: its script makes the tree of files, which is
measured, looked through, and run as the root of a process. Run by CTest."""
import os
import re
import shutil
import stat
import subprocess
import unittest

import common
from common import ROOT, options, needed, run

FOLDER = ROOT / "packaging/container"
LARGEST = 60_000_000  # bytes in files
CONTENT = re.compile(r"/(spark-demo|libspark\.so\.0|libspark-emu\.so|LICENSE(\.zstd)?|copyright"
                     r"|ld-[\w.-]+|lib(c|m|dl|pthread|rt)\.so\.\d)$")

FIXED = re.compile(r"[\w.-]+(/[\w.-]+)+:[\w.-]+@sha256:[0-9a-f]{64}")


def undigested(described):
    """The images that a Containerfile takes by a name alone, whose content may be another tomorrow."""
    bases = re.findall(r"(?im)^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", described)
    stages = {"scratch", *(stage for _, stage in bases if stage)}
    taken = [base for base, _ in bases] + re.findall(r"(?i)(?:--from=|[,=\s]from=)([^\s,]+)", described)
    return [base for base in taken if base not in stages and not FIXED.fullmatch(base)]


# How a program gets another root: from a user who may change it, to the image's account; else in a namespace.
INSIDE = ["chroot", "--userspec=65534:65534"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--root"]


def may_change_root():
    return subprocess.run([*INSIDE, "/", "true"], capture_output=True).returncode == 0


class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = options.into / "tree"
        shutil.rmtree(cls.tree, ignore_errors=True)
        run(FOLDER / "tree", options.build, cls.tree)
        cls.files = [path for path in cls.tree.rglob("*") if path.is_file() and not path.is_symlink()]
        cls.described = (FOLDER / "Containerfile").read_text()

    def test_bases_are_fixed(self):
        for line in ("FROM debian", "FROM d.io/debian:12 AS a", "from --platform=linux/arm64 d.io/debian:latest",
                     "FROM scratch\nCOPY --from=d.io/busybox:1 / /", "ARG B\nFROM $B",
                     f"FROM d.io/debian@sha256:{'0' * 64}", f"FROM d.io/debian:12@sha256:{'0' * 63}"):
            self.assertEqual(len(undigested(line)), 1, line)
        self.assertEqual(undigested(self.described), [])

    def test_size(self):
        size = sum(path.stat().st_size for path in self.files)
        for path in sorted(self.files, key=lambda path: -path.stat().st_size):
            print(f"{path.stat().st_size:>10} {path.relative_to(self.tree)}")
        print(f"{size:>10} bytes in {len(self.files)} files")
        self.assertLessEqual(size, LARGEST)

    def test_nothing_else_is_in_it(self):
        self.assertEqual([path for path in self.files if not CONTENT.search(str(path))], [])

    def test_libraries_are_in_it(self):
        names = {path.name for path in self.files}
        for path in self.files:
            if path.read_bytes()[:4] == b"\x7fELF":
                self.assertLessEqual(needed(path), names, path)

    @unittest.skipUnless(may_change_root(), "this account may not change the root of a process")
    def test_it_runs(self):
        program = re.search(r'^ENTRYPOINT \["(.+)"\]$', self.described, re.M)[1]
        said = run(*INSIDE, self.tree, program, env={"LIBSPARK_DRIVER": "emu"})
        self.assertIn("Every result agrees", said)
        said = run(*INSIDE, self.tree, program, code=1, env={"LIBSPARK_DRIVER": "gpu"})
        self.assertIn("libcuda.so.1", said)

    def test_any_account_may_read_it(self):
        for path in self.tree.rglob("*"):
            wanted = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() or path.name == "spark-demo" else 0)
            self.assertEqual(path.stat().st_mode & wanted, wanted, path)

    def test_the_image_is_the_tree(self):
        """What the last stage of the file takes is what the script made, and nothing more."""
        last = self.described.split("FROM scratch\n")[1]
        self.assertEqual([line for line in last.splitlines() if line.startswith(("COPY", "ADD", "RUN"))],
                         ["COPY --from=build /tree/ /"])
        self.assertIn("/src/packaging/container/tree /build /tree", self.described)


if __name__ == "__main__":
    common.main(common.missing("readelf", "strip", "ldd", "chroot", "unshare"))

# SPDX-License-Identifier: Apache-2.0
"""Debian's packages: lintian has nothing to say, they install into a root and leave it, and what they hold works there.
Run by CTest."""
import shutil
import unittest

import common
from common import ROOT, options, run

PACKAGES = ("libspark0", "libspark-dev", "libspark-emu")


def make(name):
    folder = options.into / name
    shutil.rmtree(folder, ignore_errors=True)
    run(ROOT / "packaging/debian/build", options.build, folder, "-z1")  # quick
    return sorted(folder.glob("*.deb"))


def dpkg(root, *words):
    """dpkg on a root that has nothing: what the packages depend on counts as there."""
    (root / "var/lib/dpkg").mkdir(parents=True, exist_ok=True)
    (root / "var/lib/dpkg/status").touch()
    return run("dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", "--force-depends",
               "--log=/dev/null", *words)


class Debian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.packages = make("first")
        cls.root = options.into / "root"
        shutil.rmtree(cls.root, ignore_errors=True)
        cls.root.mkdir()
        dpkg(cls.root, "--install", *cls.packages)
        cls.lib = next(cls.root.glob("usr/lib/*/libspark.so.0")).parent

    def test_names(self):
        self.assertEqual({package.name.split("_")[0] for package in self.packages}, set(PACKAGES))

    @unittest.skipUnless(shutil.which("lintian"), "lintian is not here")
    def test_lintian(self):
        run("lintian", "--allow-root", "--fail-on", "error,warning", *self.packages)

    def test_same_bytes(self):
        for first, second in zip(self.packages, make("second"), strict=True):
            self.assertEqual(first.read_bytes(), second.read_bytes(), first.name)

    def test_symbols(self):
        """Every function asks for the release in which it appeared."""
        info = self.root / "var/lib/dpkg/info"
        listed = next(info.glob("libspark0*.symbols")).read_text().splitlines()
        exported = [line.split("@@") for line in (ROOT / "tests/api/exports.txt").read_text().split()]
        self.assertEqual({f" {name}@{node} {node.removeprefix('SPARK_')}" for name, node in exported},
                         {line for line in listed if line.startswith(" spark_")})
        self.assertRegex(next(info.glob("libspark0*.shlibs")).read_text(), r"^libspark 0 libspark0 \(>= [\d.]+\)\n$")

    def test_it_works_where_it_is(self):
        env = {"PKG_CONFIG_PATH": str(self.lib / "pkgconfig"), "LD_LIBRARY_PATH": str(self.lib),
               "LIBSPARK_DRIVER": "emu"}
        program = options.into / "decode_step"
        run("cc", "-o", program, ROOT / "examples/decode_step/decode_step.c",
            *run("pkg-config", "--cflags", "--libs", "libspark", env=env).split())
        common.compare_decode_step(self, run(program, env=env))

    def test_they_leave_nothing(self):
        root = options.into / "root-left"
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        dpkg(root, "--install", *self.packages)
        dpkg(root, "--purge", *PACKAGES)
        self.assertEqual([path for path in root.rglob("*") if path.is_file() and "var" not in path.parts], [])


if __name__ == "__main__":
    common.main(common.missing("dpkg", "dpkg-gensymbols", "pkg-config", "cc"))

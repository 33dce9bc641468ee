# SPDX-License-Identifier: Apache-2.0
"""The release archive that cpack makes: the same bytes each time, complete, and usable where it is unpacked. Run by
CTest."""
import os
import re
import shutil
import tarfile
import unittest

import common
from common import ROOT, install, options, run


def pack(name, umask):
    """The archive, made in a folder of its own."""
    folder = options.into / name
    shutil.rmtree(folder, ignore_errors=True)
    before = os.umask(umask)
    try:
        run("cpack", "--config", options.build / "CPackConfig.cmake", "-B", folder, cwd=options.build)
    finally:
        os.umask(before)
    return next(folder.glob("*.tar.gz"))


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.archive = pack("first", 0o022)
        cls.unpacked = options.into / "unpacked"
        shutil.rmtree(cls.unpacked, ignore_errors=True)
        with tarfile.open(cls.archive) as archive:
            archive.extractall(cls.unpacked)
        cls.top = next(cls.unpacked.iterdir())

    def test_same_bytes(self):
        self.assertEqual(self.archive.read_bytes(), pack("second", 0o077).read_bytes())

    def test_checksum(self):
        run("sha256sum", "--check", f"{self.archive.name}.sha256", cwd=self.archive.parent)

    def test_nothing_is_missing(self):
        found = {path.relative_to(self.top).as_posix() for path in self.top.rglob("*") if not path.is_dir()}
        prefix = install(options.into / "installed", "runtime", "devel", "static")
        self.assertEqual({path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if not path.is_dir()},
                         found - {"lib/libspark-emu.so"})
        self.assertLessEqual({"share/doc/libspark/LICENSE", "share/doc/libspark/LICENSE.zstd"}, found)

    def test_the_library_has_the_name_of_its_soname(self):
        library = self.top / "lib/libspark.so.0"
        self.assertFalse(library.is_symlink())
        self.assertEqual(re.search(r"\(SONAME\).*\[(.+)\]", run("readelf", "-d", library))[1], library.name)

    def test_no_path_of_the_builder(self):
        for path in self.top.rglob("*"):
            if path.is_file():
                self.assertNotIn(str(ROOT).encode(), path.read_bytes(), path)

    def test_it_is_used_where_it_is(self):
        lib = self.top / "lib"
        env = {"PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib),
               "LIBSPARK_DRIVER": "emu" if (lib / "libspark-emu.so").exists() else options.driver}
        program = options.into / "decode_step"
        run("cc", "-o", program, ROOT / "examples/decode_step/decode_step.c",
            *run("pkg-config", "--cflags", "--libs", "libspark", env=env).split())
        common.compare_decode_step(self, run(program, env=env))


if __name__ == "__main__":
    common.main(common.missing("cpack", "sha256sum", "readelf", "pkg-config", "cc"))

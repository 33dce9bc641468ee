# SPDX-License-Identifier: Apache-2.0
"""What the shipped libraries need of glibc, and how large they are, beside the table of docs/abi.md."""
import argparse
import lzma
import pathlib
import platform
import re
import subprocess
import sys
import unittest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/abi.md"
ROW = re.compile(r"^\| `(?P<file>[\w.-]+\.so[.\d]*)` \| (?P<glibc>[\d.]+) "
                 r"\| (?P<size>[\d.]+) MiB \| (?P<packed>[\d.]+) MiB \|$", re.M)
BUILT_ON = re.search(r"^Built on .* \(glibc ([\d.]+)\)", PAGE.read_text(), re.M)


def number(version):
    return tuple(int(part) for part in version.split("."))


def needed_glibc(library):
    """The newest version of glibc that the library asks for, and the symbols it asks for there."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", "--with-symbol-versions", library], check=True,
                             capture_output=True, text=True).stdout
    wanted = re.findall(r" (\w+)@GLIBC_([\d.]+)", listing)
    newest = max((version for _, version in wanted), key=number)
    return newest, [name for name, version in wanted if version == newest]


class Shipped(unittest.TestCase):
    def rows(self):
        rows = {row["file"]: row for row in ROW.finditer(PAGE.read_text())}
        self.assertLessEqual({path.name for path in LIBRARIES}, set(rows))
        return [(path, rows[path.name]) for path in LIBRARIES]

    def test_glibc(self):
        for path, row in self.rows():
            newest, names = needed_glibc(path)
            # A newer toolchain puts newer names into the C++ runtime that the emulator holds.
            if "emu" in path.name and number(platform.libc_ver()[1]) > number(BUILT_ON[1]):
                continue
            self.assertEqual(newest, row["glibc"], f"{path.name} asks for {', '.join(names)}")

    def test_sizes(self):
        for path, row in self.rows():
            content = path.read_bytes()
            packed = len(lzma.compress(content, preset=1))
            print(f"{path.name}: {len(content)} bytes, {packed} packed", file=sys.stderr)
            self.assertLessEqual(len(content), float(row["size"]) * 2**20, path.name)
            self.assertLessEqual(packed, float(row["packed"]) * 2**20, f"{path.name}, packed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=pathlib.Path, action="append", required=True)
    options, rest = parser.parse_known_args()
    LIBRARIES = options.library
    unittest.main(argv=[sys.argv[0], *rest])

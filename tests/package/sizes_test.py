# SPDX-License-Identifier: Apache-2.0
"""The packages that the other tests have made, beside the sizes that docs/abi.md allows them. Run by CTest, after
those."""
import re
import unittest

import common
from common import ROOT, options

ROW = re.compile(r"^\| `(?P<package>[\w.*-]+)` \| (?P<size>\d+) MiB \|$", re.M)


class Sizes(unittest.TestCase):
    def test_sizes(self):
        folders = [options.build / "tests/package", options.build / "bindings/python/wheel"]
        rows = list(ROW.finditer((ROOT / "docs/abi.md").read_text()))
        self.assertGreaterEqual(len(rows), 5)
        for row in rows:
            with self.subTest(row["package"]):
                found = [path for folder in folders for path in folder.rglob(row["package"])]
                if not found:
                    self.skipTest("has not been made here")
                for path in found:
                    print(f"{path.stat().st_size:>10} {path.name}")
                    self.assertLessEqual(path.stat().st_size, int(row["size"]) * 2**20, path.name)


if __name__ == "__main__":
    common.main()

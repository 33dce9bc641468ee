# SPDX-License-Identifier: Apache-2.0
"""libspark as a part of another CMake project, configured: it is there, it is the library alone, and nothing of the
project around it has changed. Run by CTest; whole_test.py builds it too, which takes longer."""
import re
import unittest

import common
from common import run
from part import WAYS, configure


class Part(unittest.TestCase):
    def test_it_keeps_to_itself(self):
        for way in WAYS:
            with self.subTest(way=way):
                build = configure(way)
                targets = set(re.findall(r"^(\S+): phony$", run("ninja", "-C", build, "-t", "targets", "all"), re.M))
                self.assertIn("spark", targets)
                for name in ("spark-emu", "spark-bench", "spark-check", "spark-demo"):
                    self.assertNotIn(name, targets)
                cache = (build / "CMakeCache.txt").read_text()
                self.assertRegex(cache, r"(?m)^CMAKE_BUILD_TYPE:STRING=$")
                self.assertFalse((build / "CTestTestfile.cmake").exists())
                said = run("cmake", "--install", build, "--prefix", build / "installed")
                self.assertNotIn("libspark", said)


if __name__ == "__main__":
    common.main()

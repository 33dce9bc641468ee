# SPDX-License-Identifier: Apache-2.0
#
# What the README shows is what is compiled and run.
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_its_program_is_the_one_that_the_tests_run(self):
        shown = re.search(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        program = (ROOT / "examples" / "first" / "first.c").read_text()
        self.assertEqual(program.split("\n", 2)[2], shown)

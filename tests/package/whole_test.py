# SPDX-License-Identifier: Apache-2.0
"""A project that builds libspark as a part of itself, and runs. Run by CTest in the long tier: it compiles all."""
import unittest

import common
from common import options, run
from part import WAYS, configure


class Whole(unittest.TestCase):
    def test_it_builds_and_runs(self):
        for way in WAYS:
            with self.subTest(way=way):
                build = configure(way, "-DSPARK_ARCHS=120", "-DCMAKE_BUILD_TYPE=Release")
                run("cmake", "--build", build, "--target", "consumer")
                self.assertIn("0x3f80", run(build / "consumer", env={"LIBSPARK_DRIVER": options.driver}))


if __name__ == "__main__":
    common.main()

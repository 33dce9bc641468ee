# SPDX-License-Identifier: Apache-2.0
# What the build does not assemble: every kernel for 12.1, which runs the code of 12.0 and must get the same, and for
# 9.0, where kernels are tested, both within the budgets. Run by CTest as ptx.chips, in the long tier and so before a
# release. Other code for 12.1 is no defect of a kernel; it says that 12.1 would gain from images of its own.
import concurrent.futures
import os
import unittest

from support import PTXAS, TOP

from assemble import TARGETS, TWIN, check_cubin, check_facts, machine_code
from cubin import Cubin
from expand import expand
from header import parse_tree

ROOT = TOP / "ptx"
CACHE = os.environ.get("SPARK_KERNEL_CACHE")


def assembled(variant, chip, target):
    """(code, findings)"""
    text, _ = expand(variant, chip, ROOT)
    code, facts, warnings = machine_code(PTXAS, text, target, ROOT, CACHE)
    return Cubin(code), [*warnings, *check_facts(variant, facts, target), *check_cubin(variant, Cubin(code), target)]


def twin(variant):
    ours, _ = assembled(variant, 120, TARGETS[120])
    other, findings = assembled(variant, 120, TWIN)
    return findings + [f"{variant.name}: {TWIN} gets other machine code than {TARGETS[120]}"] * (
        ours.code() != other.code())


def testing(variant):
    return assembled(variant, 90, TARGETS[90])[1]


@unittest.skipUnless(PTXAS, "SPARK_PTXAS is not set")
class Chips(unittest.TestCase):
    def none(self, chip, findings_of):
        variants = [v for f in parse_tree(ROOT) for v in f.variants if chip in v.archs]
        self.assertGreater(len(variants), 100)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = [line for lines in pool.map(findings_of, variants) for line in lines]
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_twin_has_the_same_code(self):
        self.none(120, twin)

    def test_testing_keeps_the_budgets(self):
        self.none(90, testing)


if __name__ == "__main__":
    unittest.main()

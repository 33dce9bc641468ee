# SPDX-License-Identifier: Apache-2.0
# Compute capability 12.1 runs the code of 12.0: every kernel, assembled for it, gives the same machine code within the
# same budgets. Run by CTest as ptx.twin, in the long tier and so before a release. A difference is no defect of a
# kernel; it says that 12.1 would gain from images of its own.
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


def findings(variant):
    text, _ = expand(variant, 120, ROOT)
    ours, _, _ = machine_code(PTXAS, text, TARGETS[120], ROOT, CACHE)
    twin, facts, warnings = machine_code(PTXAS, text, TWIN, ROOT, CACHE)
    other = Cubin(ours).code() != Cubin(twin).code()
    return [*warnings, *check_facts(variant, facts, TWIN), *check_cubin(variant, Cubin(twin), TWIN),
            *([f"{variant.name}: {TWIN} gets other machine code than {TARGETS[120]}"] if other else [])]


@unittest.skipUnless(PTXAS, "SPARK_PTXAS is not set")
class Twin(unittest.TestCase):
    def test_same_code(self):
        variants = [v for f in parse_tree(ROOT) for v in f.variants if 120 in v.archs]
        self.assertGreater(len(variants), 100)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            found = [line for lines in pool.map(findings, variants) for line in lines]
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()

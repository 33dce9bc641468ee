# SPDX-License-Identifier: Apache-2.0
#
# What specgen says of errors and of what runs where, on definitions made up here.
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "specgen"))
import support  # noqa: E402

HEADER = """typedef enum spark_status {
    SPARK_OK = 0,
    SPARK_ERR_INVALID = 1000,  /* 1000: the caller's mistake */
    SPARK_ERR_NO_TEA = 1001,   /* the pot is empty */
    SPARK_STATUS_FORCE32 = 0x7fffffff
} spark_status;
"""
ADVICE = '[groups]\n1000 = "Look."\n[next]\nINVALID = "Read."\n'


class Errors(unittest.TestCase):
    def page(self, advice):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / support.STATUSES
            path.parent.mkdir(parents=True)
            path.write_text(advice)
            return support.errors(Path(folder), HEADER)

    def test_each_status_has_its_meaning_and_what_to_do(self):
        page = self.page(ADVICE + 'NO_TEA = "Fill it."\n')
        self.assertIn("### SPARK_ERR_NO_TEA\n\n**1001**: the pot is empty.\n\nWhat to do: Fill it.\n", page)

    def test_a_status_without_advice_is_refused(self):
        with self.assertRaisesRegex(ValueError, "NO_TEA"):
            self.page(ADVICE)

    def test_advice_without_a_status_is_refused(self):
        with self.assertRaisesRegex(ValueError, "COFFEE"):
            self.page(ADVICE + 'NO_TEA = "Fill it."\nCOFFEE = "Drink it."\n')


class Chips(unittest.TestCase):
    KERNELS = [{"name": "f_bf16__generic", "family": "f", "axes": {"T": "bf16"}, "archs": [120, 90]},
               {"name": "f_f16__generic", "family": "f", "axes": {"T": "f16"}, "archs": [120]},
               {"name": "g_b16__generic", "family": "g", "axes": {"T": "b16"}, "archs": [120, 90]},
               {"name": "g_added__8x8", "family": "g", "axes": {}, "archs": [120]},
               {"name": "h__generic", "family": "h", "axes": {}, "archs": [120]}]

    def test_the_kernels_for_a_type_say_where_it_runs(self):
        told = [support.chips(family, dtype, self.KERNELS)
                for family, dtype in (("f", "BF16"), ("f", "F16"), ("g", "F16"), ("g", "F32"), ("h", "F32"))]
        self.assertEqual(told, ["12.0, 12.1, 9.0", "12.0, 12.1", "12.0, 12.1, 9.0", "12.0, 12.1, 9.0", "12.0, 12.1"])

# SPDX-License-Identifier: Apache-2.0
#
# Goals beside the record: each measure, the worst row, what is not measured, and the real file, whose rows must exist.
import re
import sys
import tomllib
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import goals  # noqa: E402
import record  # noqa: E402


def bench_row(shape, us, fraction=0.5, rate=1e12):
    return {"name": "gemm", "shape": shape, "median_us": us, "fraction": fraction, "rate": rate}


RUN = {"device": "Card", "commit": "0123456789", "date": "2026-01-01",
       "rows": [bench_row("m=1", 10.0, 0.8), bench_row("m=2", 20.0, 0.7, 3e12)],
       "peers": {"rows": [{"row": "gemm m=1", "bound_us": 4.0,
                           "us": {"libspark": 8.0, "cuBLAS": 6.0, "Other": "failed"}}]}}


def goal(measure, marks, rows=("gemm m=*",), **more):
    return {"of": "gemm", "what": "it", "rows": list(rows), "measure": measure, "marks": marks, **more}


class Goals(unittest.TestCase):
    def found(self, *words, **more):
        asked = goal(*words, **more)
        pairs = goals.figures(asked, RUN)
        return goals.state(asked, pairs), pairs

    def test_the_worst_row_decides(self):
        self.assertEqual(self.found("of_ceiling", [70, 80]), ("met", [("gemm m=2", 70.0), ("gemm m=1", 80.0)]))
        self.assertEqual(self.found("of_ceiling", [71, 80])[0], "missed")
        self.assertEqual(self.found("of_ceiling", [71, 80], but=["gemm m=2"])[0], "aim")
        self.assertEqual(self.found("us", [20, 10]), ("met", [("gemm m=2", 20.0), ("gemm m=1", 10.0)]))

    def test_rows_beside_rows_and_peers(self):
        self.assertEqual(self.found("speed_of", [2, 3], ["gemm m=1"], row="gemm m=2"), ("met", [("gemm m=1", 2.0)]))
        self.assertEqual(self.found("rate_of", [2, 3], ["gemm m=2"], row="gemm m=1"), ("aim", [("gemm m=2", 3.0)]))
        self.assertEqual(self.found("of_bound", [60, 70]), ("missed", [("gemm m=1", 50.0)]))
        self.assertEqual(self.found("peer", [0.75, 1], peer="cuBLAS"), ("met", [("gemm m=1", 0.75)]))

    def test_what_was_not_measured_is_neither_met_nor_missed(self):
        for absent in (self.found("of_ceiling", [1, 2], ["gemm m=3"]), self.found("peer", [1, 2], peer="Other"),
                       self.found("speed_of", [1, 2], row="gemm m=3")):
            self.assertEqual(absent, ("", []))

    def test_figures_are_compared_as_they_are_shown(self):
        with mock.patch.dict(RUN, rows=[bench_row("m=1", 10.0, 0.69996)]):
            self.assertEqual(self.found("of_ceiling", [70, 80])[0], "met")

    def test_a_goal_that_cannot_be_read_is_refused(self):
        broken = {"card": "Card", "goal": [goal("of_the_moon", [1, 2])]}
        with mock.patch.object(tomllib, "loads", return_value=broken), self.assertRaises(goals.Wrong):
            goals.load()

    def test_a_limit_needs_three_attempts(self):
        for attempts in ([], ["a", "b"], ["a", "b", "b"]):
            told = {"card": "Card", "goal": [goal("us", [1, 2], limit="too few bytes", attempts=attempts)]}
            with mock.patch.object(tomllib, "loads", return_value=told), self.assertRaises(goals.Wrong):
                goals.load()

    def test_each_pattern_names_a_row(self):
        shapes = "\n".join(path.read_text() for path in (ROOT / "tests" / "ops").glob("*/*.inc"))
        named = set(re.findall(r'\.name = "([^"]*)", [^}]*Tier::bench', shapes))
        named |= {line.partition(" ")[2] for line in (ROOT / "bench/peers/torch_peers.txt").read_text().splitlines()}
        named = {f" {' '.join(shape.split())}" for shape in named}
        for wanted in goals.load()[1]:
            for pattern in [*wanted["rows"], *wanted.get("but", []), *([wanted["row"]] if "row" in wanted else [])]:
                words = " " + pattern.partition(" ")[2]
                with self.subTest(pattern):
                    self.assertTrue(any(goals.fnmatch.fnmatchcase(name, words) for name in named))

    def test_the_page_counts_them(self):
        held = {"limit": "too many bytes", "attempts": ["a", "b", "c"]}
        asked = [goal("of_ceiling", [75, 90], **held), goal("us", [20, 5], **held), goal("us", [1, 1])]
        with mock.patch.object(goals, "load", return_value=("Card", asked)):
            page = goals.page([RUN])
        self.assertIn("of 3 goals 1 are met, 0 with the second mark too; 2 are missed, of 1 is said what holds "
                      "them; 0 not measured.", page)
        self.assertEqual(page.count("- *it*: too many bytes. Tried: a; b; c."), 1)
        self.assertIn("| 70.0 % to 80.0 % | **missed**; 1 of 2 met, worst: `gemm m=2` |", page)

    def test_peers_of_another_commit_are_said(self):
        run = {"commit": "a", "date": "d", "peers": {"commit": "b", "date": "c"}}
        self.assertEqual(goals.recorded(run), "commit a, d (bounds and peers: commit b, c)")
        self.assertEqual(goals.recorded({**run, "peers": {"commit": "a", "date": "d"}}), "commit a, d")

    def test_the_page_of_the_tree_is_what_its_record_says(self):
        self.assertEqual(goals.PAGE.read_text(), goals.page(record.load()))


if __name__ == "__main__":
    unittest.main()

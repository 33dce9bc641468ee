# SPDX-License-Identifier: Apache-2.0
#
# The record of checks on cards: one entry a card, no emulated run, a page that says what the record says; and how
# tests/card/run.py chooses and counts.
import importlib.util
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from recording import ROOT, Recording

import checked
import record

spec = importlib.util.spec_from_file_location("card_run", ROOT / "tests" / "card" / "run.py")
card = importlib.util.module_from_spec(spec)
spec.loader.exec_module(card)

KERNELS = {"rope": {"rope__generic": {"passed": 30, "failed": 1}, "(nothing to launch)": {"passed": 2}}}


def run_of(device, emulated=False):
    return {"device": f"{device}, compute capability 12.0", "driver": 13000, "driver_release": "580.1",
            "emulated": emulated, "phases": {
                "cases": {"kernels": KERNELS, "tier": "card", "random": 40, "random_of": {"rope": 90}, "seed": 1,
                          "failed": 1, "failures": ["rope/odd rope__generic on gpu: wrong"]},
                "both": {"operators": {"rope": {"equal": 7, "within_bounds": 2, "alone": 0}}, "failed": 0},
                "api": {"programs": {"api-launch": {"passed": 4, "failed": 0, "skipped": 0}}, "failed": 0},
                "repeats": {"kernels": {"rope": {"rope__generic": {"passed": 1}}}, "launches": 1000, "failed": 0,
                            "failures": []},
                "memcheck": {"kernels": {"rope": {"rope__generic": "clean", "rope__v4": "over the limit"}}, "failed": 0,
                             "failures": []},
                "racecheck": {"skipped": "no compute-sanitizer on this machine"},
                "languages": {"programs": ["c", "go"], "logits": "12ab", "failed": 0, "failures": []},
                "model": {"launches": {"rope": {"launches": 30, "equal": 30}, "glu": {"launches": 30, "equal": 4}},
                          "logits": {"number": 64, "equal": 3, "off": 0.25}, "failed": 0, "failures": []}}}


class Checked(Recording):
    module, name = checked, "checked"

    def setUp(self):
        super().setUp()
        self.put(checked, "all_kernels", lambda: ["rope__generic", "rope__v4"])

    def test_a_run_becomes_an_entry_and_a_section(self):
        page = self.adopt(run_of("Card A"))
        self.assertIn("## Card A\n\nCompute capability 12.0; driver release 580.1, interface 13000; commit 012", page)
        self.assertIn("40 random cases an operator, 90 of rope, seed 1; 1000 repeated launches.", page)
        self.assertIn("| rope | 1 | 32 | 1 | 7 equal, 2 within bounds | 1 of 1 | 1 of 2, 1 over the limit | - |", page)
        self.assertIn("`api-launch` 4 passed, 0 failed", page)
        self.assertIn("`decode_step` in c, go: the same tokens and, in its last logits, the same bits (`12ab`)", page)
        self.assertIn("the emulator's inputs: `rope` 30 of 30, `glu` 4 of 30.", page)
        self.assertIn("3 of 64 logits equal, the others off by at most 0.25.", page)
        self.assertIn("Racecheck: no compute-sanitizer on this machine.", page)
        self.assertIn("no case of this run reached: `rope__v4`.", page)
        self.assertIn("Failures: 1. The first of them:\n\n- cases: `rope/odd rope__generic on gpu: wrong`", page)
        self.assertEqual(page, checked.page(checked.load()))

    def test_a_card_has_one_entry_the_newest(self):
        self.adopt(run_of("Card B"))
        self.adopt(run_of("Card A"))
        self.adopt(run_of("Card B"))
        self.assertEqual([entry["device"][:6] for entry in checked.load()], ["Card A", "Card B"])

    def test_what_cannot_be_traced_is_refused(self):
        with self.assertRaisesRegex(record.Refused, "emulated"):
            self.adopt(run_of("Card A", emulated=True))
        self.changed = " M src/api/op.cpp"
        with self.assertRaisesRegex(record.Refused, "differ from the last commit"):
            self.adopt(run_of("Card A"))
        self.assertFalse(checked.RECORD.exists())


def result(case, seconds=0.1, kernel="rope__generic", status="passed"):
    return {"op": "rope", "case": case, "kernel": kernel, "driver": "gpu", "status": status, "seconds": seconds,
            "faults": [] if status == "passed" else ["wrong"]}


class Card(unittest.TestCase):
    def test_the_case_that_stands_for_a_kernel_is_named_passed_and_no_extreme(self):
        results = [result("long", 9), result("empty", 0), result("usual", 1), result("random_3", 0.9),
                   result("bad", 1, status="failed"), result("none", 1, kernel="(nothing to launch)")]
        self.assertEqual(card.pick(results), "usual")
        self.assertIsNone(card.pick(results[3:]))

    def parsed(self, *words):
        with mock.patch("sys.argv", ["run.py", "--out", "x.json", *words]):
            return card.parse()

    def test_a_thousand_launches_and_two_thousand_draws_of_attention_unless_said_otherwise(self):
        args = self.parsed()
        self.assertEqual(args.repeats, 1000)
        self.assertEqual((card.drawn(args.random, "attention"), card.drawn(args.random, "rope")), (2000, 40))
        in_tree = (ROOT / "tests" / "check" / "CMakeLists.txt").read_text()
        self.assertIn("set(card_random_attention 2000)", in_tree)
        args = self.parsed("--random", "6")
        self.assertEqual((card.drawn(args.random, "attention"), card.drawn(args.random, "rope")), (6, 6))
        args = self.parsed("--random", "rope=7")
        self.assertEqual((card.drawn(args.random, "attention"), card.drawn(args.random, "rope")), (0, 7))
        with self.assertRaises(SystemExit), mock.patch("sys.stderr"):
            self.parsed("--random", "rope=many")

    def test_programs_that_say_something_else_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, last in (("c", "12"), ("go", "12"), ("zig", "13")):
                program = Path(folder) / name
                program.write_text(f"#!/bin/sh\necho step 0: tokens '[1, 2]'\necho logits {last}\necho on a card\n")
                program.chmod(0o755)
            runner = card.Runner.__new__(card.Runner)
            runner.args = mock.Mock(programs=Path(folder), limit=9)
            runner.env, runner.running = {}, set()
            found = card.languages(runner, {})
        self.assertEqual((found["programs"], found["logits"]), (["c", "go", "zig"], "12"))
        self.assertEqual(found["failures"], ["zig: step 0: tokens [1, 2]\nlogits 13\n"])

    def test_what_programs_say_names_no_place_of_a_machine(self):
        said = {f"{ROOT}/tests/card/run.py:7: wrong": "tests/card/run.py:7: wrong",
                "[ LINE ] --- /builds/42/spark/tests/card/run.py:7: error": "[ LINE ] --- tests/card/run.py:7: error",
                "/models/tests/model.gguf is short": "model.gguf is short",
                "see (/tmp/spark-card-1/out.json), ./bin/x": "see (out.json), ./bin/x",
                "/usr/lib/libcuda.so.1, rope/odd 1/2, 3 GB/s": "/usr/lib/libcuda.so.1, rope/odd 1/2, 3 GB/s"}
        self.assertEqual([card.without_paths(text) for text in said], list(said.values()))
        runner = card.Runner.__new__(card.Runner)
        runner.env, runner.running = {}, set()
        self.assertEqual(runner.run(["/bin/echo", *said], 9), (0, " ".join(said.values()) + "\n"))

    def test_results_are_counted_by_operator_and_kernel(self):
        counted = card.counts([result("a"), result("b"), result("c", status="failed")])
        self.assertEqual(counted, {"rope": {"rope__generic": {"failed": 1, "passed": 2}}})
        found = card.failures([result("c", status="failed")], ["spark-check --op rope: not done within 9 s"])
        self.assertEqual(found["failed"], 2)
        self.assertEqual(found["failures"][0], "rope/c rope__generic on gpu: wrong")

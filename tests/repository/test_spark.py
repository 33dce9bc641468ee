# SPDX-License-Identifier: Apache-2.0
#
# tools/spark on a machine where something is missing: PATH holds stand-ins; that of apt-get writes down its calls.
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPARK = ROOT / "tools" / "spark"
COMMANDS = "demo test build check bench lint list new expand explain witness clean".split()
BASICS = "sh dirname id sed grep head mktemp cat rm tr".split()


class Help(unittest.TestCase):
    def test_each_command_has_help(self):
        for command in COMMANDS:
            result = subprocess.run([SPARK, command, "--help"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"usage: tools/spark {command}", result.stdout)

    def test_help_of_a_command_passed_on_whole_lists_its_options(self):
        result = subprocess.run([SPARK, "expand", "--help"], capture_output=True, text=True)
        self.assertIn("--pretty", result.stdout)

    def test_usage_names_every_command(self):
        result = subprocess.run([SPARK, "--help"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0)
        for command in COMMANDS:
            self.assertRegex(result.stdout, rf"(?m)^  {command} ")

    def test_an_unknown_command_is_refused(self):
        result = subprocess.run([SPARK, "dance"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("no command 'dance'", result.stderr)


class BareMachine(unittest.TestCase):
    """Nothing installed but a shell: no Python, no compiler."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin = Path(scratch.name)
        self.calls = self.bin / "calls"
        for name in BASICS:
            for folder in ("/usr/bin", "/bin"):
                if os.path.exists(f"{folder}/{name}"):
                    (self.bin / name).symlink_to(f"{folder}/{name}")
                    break
        self.stand_in("id", "echo 0")

    def stand_in(self, name, body):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def spark(self, *words, **env):
        return subprocess.run([self.bin / "sh", SPARK, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env={"PATH": str(self.bin), **env})

    def test_without_a_yes_nothing_is_installed(self):
        self.stand_in("apt-get", f'echo "$@" >>{self.calls}')
        result = self.spark("demo")
        self.assertEqual(result.returncode, 1)
        self.assertIn("cmake: runs the build", result.stdout)
        self.assertIn("say --yes", result.stderr)
        self.assertFalse(self.calls.exists())

    def test_a_ci_that_says_no_installs_nothing(self):
        self.stand_in("apt-get", f'echo "$@" >>{self.calls}')
        for word in ("false", "False", "0", "no", "off", "never", ""):
            result = self.spark("demo", CI=word)
            self.assertEqual(result.returncode, 1)
            self.assertIn("say --yes", result.stderr)
            self.assertFalse(self.calls.exists(), f"CI={word} installed packages")

    def test_yes_and_ci_install_what_is_missing(self):
        self.stand_in("apt-get", f'echo "$@" >>{self.calls}')
        said = [(["demo"], {"CI": word}) for word in ("true", "1", "YES")]
        for words, env in [(["demo", "--yes"], {}), *said]:
            self.calls.unlink(missing_ok=True)
            result = self.spark(*words, **env)
            self.assertEqual(result.returncode, 1)
            self.assertIn("needs Python 3.11", result.stderr)
            called = self.calls.read_text()
            self.assertIn("update", called.splitlines()[0])
            for package in ("python3", "python3-pip", "gcc", "g++", "cmake", "ninja-build"):
                self.assertIn(f" {package}", called)
            self.assertNotIn("clang", called)

    def test_a_failing_apt_get_stops_it(self):
        self.stand_in("apt-get", "echo 'E: no network'; exit 100")
        result = self.spark("demo", "--yes")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get update failed (exit code 100)", result.stderr)
        self.assertIn("E: no network", result.stdout)

    def test_without_apt_get_it_says_what_to_install(self):
        result = self.spark("build", "--yes")
        self.assertEqual(result.returncode, 1)
        self.assertIn("libcmocka-dev: unit tests", result.stdout if not os.path.exists("/usr/include/cmocka.h") else
                      result.stdout + "libcmocka-dev: unit tests")
        self.assertIn("no apt-get", result.stderr)

    def test_help_needs_nothing(self):
        result = self.spark("test", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("usage: tools/spark", result.stdout)

# SPDX-License-Identifier: Apache-2.0
#
# Whatever this tree installs with pip is fixed by the hash of its file: the commands in programs and pages, and the
# lists that they name.
import ast
import os
import re
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
PINNED = re.compile(r"[A-Za-z0-9][\w.-]*==[\w.+!-]+( ; .+)?")
COMMAND = re.compile(r"\bpip3? (?:-\S+ )*(?:install|download|wheel)\b.*")
SHELL_OR_PAGE = {".md", ".sh", ".yml", ".yaml", ".txt", ".toml", ".cmake", ""}


def files(*suffixes):
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if not name.startswith((".", "build", "__pycache__"))]
        found += [path for path in map(Path(folder).joinpath, names) if path.suffix in suffixes and path.is_file()]
    return found


def is_safe(words):
    """Whether a command of pip fetches by hash alone, or nothing: `wheel` of this tree, with what is installed."""
    return "--require-hashes" in words or "--no-index" in words or "--no-build-isolation" in words


def commands(text):
    """The words of each call of pip in a Python program, as far as they are written there."""
    for node in ast.walk(ast.parse(text)):
        called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pip"
        if called or isinstance(node, (ast.List, ast.Tuple)):
            words = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            if (called or "pip" in words) and {"install", "download", "wheel"} & set(words):
                yield words
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (found.split() for found in COMMAND.findall(node.value))


def loose(listing):
    """What a list of requirements names without a version or without a hash."""
    lines = re.sub(r"\\\n", "", re.sub(r"(?m)^\s*#.*$", "", listing)).splitlines()
    return [line for line in filter(str.strip, lines)
            if not PINNED.fullmatch(HASH.sub("", line).strip()) or not HASH.search(line)]


class Installs(unittest.TestCase):
    def test_programs(self):
        seen = 0
        for path in files(".py"):
            if path == Path(__file__).resolve():
                continue
            for words in commands(path.read_text()):
                seen += 1
                self.assertTrue(is_safe(words), f"{path.relative_to(ROOT)}: {words}")
        self.assertGreater(seen, 8)

    def test_pages_and_scripts(self):
        for path in files(*SHELL_OR_PAGE):
            if path.name == "CHANGELOG.md":
                continue
            for line in COMMAND.findall(path.read_text(errors="replace")):
                self.assertTrue(is_safe(line), f"{path.relative_to(ROOT)}: {line}")

    def test_lists(self):
        lists = [path for path in files(".txt") if "requirements" in path.relative_to(ROOT).as_posix()]
        self.assertGreater(len(lists), 6)
        for path in lists:
            self.assertEqual(loose(path.read_text()), [], path)

    def test_the_wheel_is_built_with_what_its_list_has(self):
        required = tomllib.loads((ROOT / "bindings/python/pyproject.toml").read_text())["build-system"]["requires"]
        folder = ROOT / "bindings/python/requirements"
        self.assertEqual(sorted(required), sorted((folder / "build.in").read_text().split()))
        for name in required:
            self.assertRegex((folder / "build.txt").read_text(), rf"(?m)^{re.escape(name)} ")

    def test_the_rules_themselves(self):
        for text in ('run(["-m", "pip", "install", "x==1"])', 'pip(a, "wheel", "--no-deps", b)', '"""pip install x"""'):
            (words,) = commands(text)
            self.assertFalse(is_safe(words))
        for listing in ("x", "x>=1 --hash=sha256:" + "0" * 64, "x==1", "x==1 --hash=sha256:12", "./x.whl"):
            self.assertEqual(loose(listing), [listing])
        self.assertEqual(loose("# x\nx==1 ; a < '3' \\\n    --hash=sha256:" + "0" * 64), [])


if __name__ == "__main__":
    unittest.main()

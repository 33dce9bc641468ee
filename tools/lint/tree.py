# SPDX-License-Identifier: Apache-2.0
#
# What the rules look at: the files of the tree, their text, and what a finding is.
# Used by every rules_*.py. Knows git's list of files and nothing of any rule.
import fnmatch
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

C_LIKE = {".c", ".cpp", ".h", ".hpp", ".inc", ".cu"}
PTX = {".ptx", ".ptxh"}
HASH = {".py", ".cmake", ".toml", ".sh", ".yml", ".txt", ".i"}


@dataclass
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}" if self.line else f"{self.path}: {self.message}"


@dataclass
class Rule:
    name: str
    about: str
    check: object
    fix: object = None


RULES = []


def rule(name, about):
    """Registers the decorated function, which yields findings, as the rule `name`."""
    def register(check):
        RULES.append(Rule(name, about, check))
        return check
    return register


def git(*words):
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


@cache
def files():
    """Every file that is or could be committed: tracked, or new and not ignored."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return tuple(sorted({name for name in names if name and (ROOT / name).is_file()}))


@cache
def text(name):
    """The text of a file, or None when it is not text."""
    data = (ROOT / name).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


@cache
def lines(name):
    content = text(name)
    return tuple(content.split("\n")) if content is not None else ()


def suffix(name):
    return Path(name).suffix


def matching(*patterns):
    """Files whose path matches one of the patterns; * crosses folders."""
    return [name for name in files() if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def is_script(name):
    first = lines(name)[:1]
    return bool(first) and first[0].startswith("#!")


def is_source(name):
    """A file that people write code in: it owes an SPDX line and a size."""
    code = C_LIKE | PTX | {".py", ".cmake", ".S", ".rs", ".zig", ".go"}
    return suffix(name) in code or is_script(name) or name.endswith("CMakeLists.txt")


def is_generated(name):
    """Committed results of a generator say so near their top; the generator answers for their size and layout."""
    return any("do not edit" in line.lower() for line in lines(name)[:6])

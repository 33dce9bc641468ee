# SPDX-License-Identifier: Apache-2.0
#
# Rules about the text of single files: formatting, spaces, licence line, sizes, leftovers, syntax.
import ast
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import tree
from tree import Finding, rule

sys.path.append(str(tree.ROOT / "tools" / "sparklib"))
import wheels  # noqa: E402  the pinned clang-format


def formatted_files():
    """C and C++ that clang-format rules: not tables (.inc), drawn in columns by hand, and not generated files."""
    return [name for name in tree.files()
            if tree.suffix(name) in {".c", ".cpp", ".h", ".hpp"} and not tree.is_generated(name)]


def clang_format(*words):
    program = wheels.fetch("clang-format", tree.ROOT / "build" / "pinned", lambda text: print(text, file=sys.stderr))
    return subprocess.run([str(program), *words, *formatted_files()], cwd=tree.ROOT, capture_output=True, text=True)


@rule("format", "C and C++ are laid out as .clang-format says; `tools/spark lint --fix` does it")
def check_format():
    if not formatted_files():
        return
    seen = set()
    said = clang_format("--dry-run", "-Werror").stderr
    for found in re.finditer(r"^([^\s:]+):(\d+):\d+: (?:error|warning): (.*)$", said, re.M):
        if found[1] not in seen:
            seen.add(found[1])
            yield Finding(found[1], int(found[2]), "not formatted (first place); run tools/spark lint --fix")


def fix_format():
    clang_format("-i")


@rule("spaces", "no tabs (but in Go), trailing spaces, carriage returns, invisible characters; one newline at the end")
def check_spaces():
    for name in tree.files():
        content = tree.text(name)
        if not content or name == "LICENSE":
            continue
        for number, line in enumerate(tree.lines(name), 1):
            if line != line.rstrip():
                yield Finding(name, number, "space at the end of the line")
            if "\t" in line and tree.suffix(name) != ".go":  # gofmt indents with them
                yield Finding(name, number, "a tab")
            for character in set(line):
                if ord(character) > 126 and (unicodedata.category(character) in ("Cf", "Cc", "Zs", "Co")):
                    yield Finding(name, number, f"an invisible character, U+{ord(character):04X}")
        if not content.endswith("\n") or content.endswith("\n\n"):
            yield Finding(name, len(tree.lines(name)), "the file does not end in exactly one newline")


@rule("spdx", "each source file names its licence in its first line, or in its second after #!")
def check_spdx():
    for name in tree.files():
        named = any("SPDX-License-Identifier: Apache-2.0" in line for line in tree.lines(name)[:3])
        if tree.is_source(name) and not named:
            yield Finding(name, 1, "no SPDX-License-Identifier: Apache-2.0 at the top")


@rule("width", "at most 120 columns in source files; tables (.inc) and the data of tests may be wider")
def check_width():
    for name in tree.files():
        table = tree.suffix(name) == ".inc" or (tree.suffix(name) == ".ptx" and name.startswith("tests/"))
        if tree.is_source(name) and not tree.is_generated(name) and not table:
            for number, line in enumerate(tree.lines(name), 1):
                if len(line) > 120:
                    yield Finding(name, number, f"{len(line)} columns; at most 120")


def limits(name):
    """(wished, hard) lines for one file."""
    if tree.suffix(name) == ".ptx" and name.startswith("ptx/"):
        return 300, 300
    if tree.suffix(name) == ".ptxh":
        return 200, 200
    return 400, 600


@rule("sizes", "at most 600 lines a source file, 300 a kernel, 200 a macro file")
def check_sizes():
    for name in tree.files():
        if tree.is_source(name) and not tree.is_generated(name):
            count = len(tree.lines(name)) - 1
            if count > limits(name)[1]:
                yield Finding(name, 0, f"{count} lines; at most {limits(name)[1]}")


def large_files():
    """Files over what is wished for and within the limit: a note, no finding."""
    for name in tree.files():
        if tree.is_source(name) and not tree.is_generated(name):
            count = len(tree.lines(name)) - 1
            if limits(name)[0] < count <= limits(name)[1]:
                yield f"{name}: {count} lines; {limits(name)[0]} are wished for"


FUNCTION = re.compile(r"(?!namespace|struct|class|enum|union|typedef|using|extern \"C\" \{|template)[A-Za-z_][^=;]*\(")

TEMPLATE = re.compile(r"template <.*?>+ (?=\w)")  # that begins on the line of its function


def c_functions(name):
    """(first line, lines, name) of functions that begin in the first column, where the layout rules put them."""
    began, inside = None, False
    for number, line in enumerate(tree.lines(name), 1):
        if began is None:
            line = TEMPLATE.sub("", line)
            if FUNCTION.match(line):
                began, inside = (number, line.split("(")[0].split()[-1].lstrip("*&")), False
        if began is None:
            continue
        inside = inside or line.rstrip().endswith("{")
        if line.startswith("}"):
            yield began[0], number - began[0] + 1, began[1]
            began = None
        elif not inside and line.rstrip().endswith((";", "}")):
            began = None  # a declaration, or a function on one line


def python_functions(name):
    try:
        parsed = ast.parse(tree.text(name))
    except SyntaxError:
        return
    for node in ast.walk(parsed):
        if isinstance(node, ast.FunctionDef):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


@rule("functions", "at most 60 lines a function")
def check_functions():
    for name in tree.files():
        if tree.is_generated(name) or tree.suffix(name) not in {".c", ".cpp", ".h", ".hpp", ".py"}:
            continue
        for number, count, function in (python_functions if tree.suffix(name) == ".py" else c_functions)(name):
            if count > 60:
                yield Finding(name, number, f"{function} has {count} lines; at most 60")


@rule("leftovers", "no notes to self, no code that is switched off, no names with ordinals")
def check_leftovers():
    note = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    for name in tree.files():
        if re.search(r"(?:_v\d+|_old|_new|_fast|_opt|_final)\.\w+$|/(?:old|archive)/", name):
            yield Finding(name, 0, "a name with an ordinal or an adjective: say what is different instead")
        if not tree.is_source(name):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            if note.search(line):
                yield Finding(name, number, "a note to self: do it, or file it")
            if re.match(r"\s*#\s*if\s+0\b", line):
                yield Finding(name, number, "code that is switched off: git keeps it")


@rule("syntax", "scripts parse, and those that start with #! can be run")
def check_syntax():
    for name in tree.files():
        if tree.suffix(name) == ".py":
            try:
                compile(tree.text(name), name, "exec", dont_inherit=True)
            except SyntaxError as error:
                yield Finding(name, error.lineno or 0, f"Python does not parse it: {error.msg}")
        if not tree.is_script(name):
            continue
        if not Path(tree.ROOT / name).stat().st_mode & 0o100:
            yield Finding(name, 1, "starts with #! but is not executable")
        shell = re.match(r"#!.*\b(bash|sh)\b", tree.lines(name)[0])
        if shell:
            result = subprocess.run([shell[1], "-n", str(tree.ROOT / name)], capture_output=True, text=True)
            if result.returncode:
                yield Finding(name, 0, f"{shell[1]} does not parse it: {result.stderr.strip()}")

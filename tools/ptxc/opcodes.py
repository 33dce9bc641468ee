# SPDX-License-Identifier: Apache-2.0
# Instructions: finding them in PTX, and the list of those allowed, which is the emulator's table emu/ir/opcodes.inc.
# Its rows are OP(mnemonic, family, grammar, ...), the grammar of modifiers being words, {one|of} and [at most|one of]
# between dots (^ marks what belongs to the name), in pieces of string that may be named by a #define beside the table.
# The emulator takes modifiers in any order, as ptxas does; kernels of this tree write them as the table does.
# Called by lint.py.
# Knows nothing of what instructions mean.
"""Opcodes in kernels, and the emulator's table of them."""

import functools
import re
from pathlib import Path

from expand import MARKER, expand

INSTRUCTION = re.compile(r"(?:@!?[\w$]+\s+)?([a-z][a-z0-9_]*(?:\.[\w:]+)*)\b(?!\s*:)")


@functools.cache
def instructions(text):
    """[opcode with its modifiers] of one line of PTX, possibly with macro calls in between."""
    text = re.sub(r'"[^"]*"', "", text.split("//")[0])
    text = re.sub(r"\{[^{};]*\}", "braced", text)  # a vector operand, not a block
    found = []
    for statement in re.split(r"[;{}]|^\s*[\w$]+\s*:(?!:)", text):
        match = INSTRUCTION.match(statement.strip())
        if match and not statement.strip().startswith((".", "#")):
            found.append(match[1])
    return found


def text_of(variant, sm, root, results, newest):
    """The expanded kernel: as the build wrote it, where that was after the last change of what it is made of."""
    written = Path(results) / f"{variant.name}.{sm}.ptx" if results else None
    if written and written.is_file() and written.stat().st_mtime > newest:
        return written.read_text(encoding="utf-8")
    return expand(variant, sm, root)[0]


def used_opcodes(root, files, results=None):
    """{opcode with modifiers: first place} over all expanded kernels, all chips. `results`: where a build left them."""
    used = {}
    sources = [*root.rglob("*.ptx*"), *Path(__file__).parent.glob("*.py")]
    newest = max(path.stat().st_mtime for path in sources)
    for variant in (v for f in files for v in f.variants):
        for sm in variant.archs:
            path, line = variant.file.relative, 0
            for raw in text_of(variant, sm, root, results, newest).splitlines():
                marker = MARKER.match(raw)
                if marker:
                    path, line = marker[2], int(marker[1]) - 1
                    continue
                line += 1
                for opcode in instructions(raw):
                    used.setdefault(opcode, f"{path}:{line}")
    return used


def _pattern(grammar):
    """The modifiers of one row as a regular expression over `.a.b.c`."""
    result = ""
    for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^.\[\]{}]+", grammar.replace("^", "")):
        words = "|".join(re.escape(w) for w in part.strip("{}[]").split("|"))
        result += rf"(?:\.(?:{words}))" + ("?" if part[0] == "[" else "")
    return result + r"\Z"


def emulator_table(root):
    """{mnemonic: [patterns of its modifiers]}, or None while there is no table."""
    folder = root.parent / "emu" / "ir"
    path = folder / "opcodes.inc"
    if not path.is_file():
        return None
    text, names, result = path.read_text(encoding="utf-8"), {}, {}
    for source in (path, *sorted(folder.glob("*.cpp")), *sorted(folder.glob("*.h"))):
        names.update(re.findall(r'^#define\s+(\w+)\s+"([^"]*)"', source.read_text(encoding="utf-8"), re.MULTILINE))
    for mnemonic, pieces in re.findall(r'^\s*OP\(\s*(\w+),\s*\w+,\s*((?:"[^"]*"|\w+|\s)+),', text, re.MULTILINE):
        grammar = "".join(quoted if quoted or not name else names.get(name, name)
                          for quoted, name in re.findall(r'"([^"]*)"|(\w+)', pieces))
        result.setdefault(mnemonic, []).append(re.compile(_pattern(grammar)))
    return result


def unknown(opcode, table):
    """'' when the emulator executes this opcode, else what it lacks."""
    mnemonic, dot, modifiers = opcode.partition(".")
    if mnemonic not in table:
        return f"has no '{mnemonic}'"
    if not any(p.match(dot + modifiers) for p in table[mnemonic]):
        return f"has no form of '{mnemonic}' with these modifiers"
    return ""

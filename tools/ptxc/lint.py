# SPDX-License-Identifier: Apache-2.0
# The rules of the kernel tree that no assembler checks: sizes, layers, raw instructions where a macro exists, opcodes
# that 12.x or the emulator does not have, kernels without a row. Called by `ptxc lint`, tests/ptx and tools/spark.
# Each rule is a function from the tree to findings, `file:line: sentence`. Knows nothing of ptxas.
"""Lint ptx/."""

import difflib
import re
import sys
from pathlib import Path

from expand import ExpandError
from header import kernel_paths, parse_tree
from kernel_file import HeaderError
from opcodes import emulator_table, instructions, unknown, used_opcodes
from page import table_rows

KERNEL_LINES, MACRO_FILE_LINES, MACRO_LINES, SIMILAR = 300, 200, 12, 0.6
LAYERS = {"isa": 1, "tile": 2, "pipe": 3}  # base.ptxh is 0, a kernel 4

# Opcodes whose forms carry lane maps or protocols: never written outside lib/isa.
OWNED = {"mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "cp", "mbarrier", "shfl", "vote", "match", "redux",
         "griddepcontrol", "elect", "setmaxnreg", "fence"}
# Instructions so plain that a macro for one of their uses does not claim the others.
PLAIN = {"mov", "add", "sub", "mul", "mad", "fma", "neg", "abs", "min", "max", "and", "or", "xor", "not", "shl", "shr",
         "setp", "selp", "bra", "ret"}
BARRIERS = {"bar", "barrier", "mbarrier"}
FORBIDDEN = [  # (pattern of a whole opcode, why)
    (r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|div)\.approx\.f32\Z", "without .ftz it costs a range test; write .ftz"),
    (r"cvt\.rna\.", "rna costs three instructions on 12.x; use rn"),
    (r"mma\..*\.(s4|u4|b1)\b", "is emulated in software on 12.x"),
    (r"(red|atom)\.shared(::\w+)?\.add\.f32", "is a compare-and-swap loop; use shuffles"),
    (r"(add|mul|fma)\.\w+(\.ftz)?\.f32x2", "is two instructions on 12.x; write them"),
    (r"v(add|sub|absdiff|min|max|shl|shr|mad|set)[24]?\.", "video instructions are not native"),
    (r"redux\.sync\.\w+\.(?:NaN\.)?f32", "does not exist on 12.x"),
    (r"(wgmma|tcgen05)\.", "does not exist on 12.x"),
]


def run(root, cc, similar, results=None):
    findings = lint(root, cc, results)
    if similar:
        findings += similar_pairs(root)
    for finding in findings:
        print(finding, file=sys.stderr)
    if not findings:
        print("ptx: no findings")
    return 1 if findings else 0


def lint(root, cc="cc", results=None):
    """All findings of a tree. `results`: where a build left its kernels, which saves the time to expand them."""
    root = Path(root).resolve()
    findings = sizes(root) + layers(root) + raw_instructions(root)
    try:
        files = parse_tree(root)
    except HeaderError as error:
        return error.findings + findings
    return list(dict.fromkeys(findings + rows(root, files, cc) + opcodes(root, files, results)))


def _name(root, path):
    return f"ptx/{path.relative_to(root).as_posix()}"


def _lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def _macro_files(root):
    return sorted((root / "lib").rglob("*.ptxh"))


def _sources(root):
    return _macro_files(root) + kernel_paths(root)


def macros(path):
    """[(name, first line, [body lines])] of each #define and #macro of a file."""
    result, current, block = [], None, False
    for number, text in enumerate(_lines(path), 1):
        if block:
            block = not re.match(r"\s*#\s*endmacro\b", text)
            if block:
                result[-1][2].append(text)
            continue
        if current is None:
            match = re.match(r"\s*#\s*macro\s+(\w+)", text)
            if match:
                block = True
                result.append((match[1], number, []))
                continue
            match = re.match(r"\s*#\s*define\s+(\w+)(\([^)]*\))?(.*)", text)
            if not match:
                continue
            current, text = (match[1], number, []), match[3]
        current[2].append(text.rstrip("\\").rstrip() if text.endswith("\\") else text)
        if not text.endswith("\\"):
            result.append(current)
            current = None
    return result


def sizes(root):
    """Files and macros short enough to be read."""
    findings = []
    for path in _sources(root):
        limit = MACRO_FILE_LINES if path.suffix == ".ptxh" else KERNEL_LINES
        count = len(_lines(path))
        if count > limit:
            findings.append(f"{_name(root, path)}:{limit + 1}: {count} lines; at most {limit}")
        for name, line, body in macros(path):
            if len(body) > MACRO_LINES:
                findings.append(f"{_name(root, path)}:{line}: macro {name} has {len(body)} lines; "
                                f"at most {MACRO_LINES}")
    return findings


def _layer(root, path):
    parts = path.relative_to(root).parts
    if parts[0] != "lib":
        return 4
    return LAYERS.get(parts[1], 0) if len(parts) > 2 else 0


def layers(root):
    """Each layer uses only those below it (or beside it), and holds only what it may."""
    findings = []
    for path in _sources(root):
        mine = _layer(root, path)
        for number, text in enumerate(_lines(path), 1):
            where = f"{_name(root, path)}:{number}"
            include = re.match(r'\s*#\s*include\s+"([^"]+)"', text)
            if include:
                target = next((b / include[1] for b in (path.parent, root / "lib", root)
                               if (b / include[1]).is_file()), None)
                if target is None:
                    findings.append(f"{where}: includes {include[1]}, which does not exist")
                elif _layer(root, target.resolve()) > mine or _layer(root, target.resolve()) == 4:
                    findings.append(f"{where}: includes {include[1]}, which stands above it")
                continue
            code = text.split("//")[0]
            if mine and re.search(r"^\s*\.(version|target|address_size)\b", code):
                findings.append(f"{where}: only lib/base.ptxh says {code.split()[0]}")
            if re.search(r"\.entry\b", code):
                findings.append(f"{where}: entries are made by SPARK_ENTRY")
            for opcode in instructions(_define_body(code)):
                if mine == 0 and "." in opcode:
                    findings.append(f"{where}: {opcode}: lib/base.ptxh holds no instructions")
                if mine == 2 and opcode.split(".")[0] in BARRIERS:
                    findings.append(f"{where}: {opcode}: lib/tile holds no barriers")
    return findings


def _define_body(text):
    return re.sub(r"^\s*#\s*define\s+\w+(\([^)]*\))?", "", text).rstrip("\\")


def raw_instructions(root):
    """Outside lib/isa, an instruction that a macro of lib/isa stands for is written through it."""
    owned, findings = {}, []
    for path in _macro_files(root):
        if _layer(root, path) != 1:
            continue
        for name, _, body in macros(path):
            found = instructions(" ".join(body))
            if len(found) == 1 and found[0].split(".")[0] not in PLAIN:
                owned.setdefault(found[0], name)
    for path in _sources(root):
        if _layer(root, path) < 2:
            continue
        for number, text in enumerate(_lines(path), 1):
            for opcode in instructions(_define_body(text)):
                if opcode in owned:
                    findings.append(f"{_name(root, path)}:{number}: {opcode} has a macro: {owned[opcode]}")
                elif opcode.split(".")[0] in OWNED and "." in opcode:
                    findings.append(f"{_name(root, path)}:{number}: {opcode}: forms of {opcode.split('.')[0]} "
                                    "are written in lib/isa only")
    return findings


def rows(root, files, cc="cc"):
    """Each kernel is named by a dispatch row, each row names a kernel."""
    found = table_rows(root, cc)
    if found is None:
        return []
    variants = {v.name: v for f in files for v in f.variants}
    findings = [f"{v.file.relative}:{v.line}: {name} is in no src/ops/*/table.inc: give it a row or remove it"
                for name, v in variants.items() if name not in found]
    base = root.parent
    for name, places in found.items():
        if name not in variants:
            findings += [f"{path.relative_to(base).as_posix()}:{line}: no kernel is called {name}"
                         for _, _, path, line in places]
    return findings


def opcodes(root, files, results=None):
    """Only instructions that 12.x runs well and the emulator knows."""
    try:
        used = used_opcodes(root, files, results)
    except ExpandError as error:
        return [str(error)]
    known, findings = emulator_table(root), []
    for opcode, where in sorted(used.items(), key=lambda item: item[1]):
        for pattern, why in FORBIDDEN:
            if re.match(pattern, opcode):
                findings.append(f"{where}: {opcode} {why}")
        lacking = unknown(opcode, known) if known is not None else ""
        if lacking:
            findings.append(f"{where}: {opcode}: the emulator's table (emu/ir/opcodes.inc) {lacking}")
    return findings


def similar_pairs(root):
    """Pairs of kernel files that share more than SIMILAR of their lines: a macro or a variant is missing."""
    texts = {}
    for path in kernel_paths(root):
        code = [re.sub(r"\s+", " ", l.split("//")[0]).strip() for l in _lines(path)]
        texts[path] = [l for l in code if l and not l.startswith("#include")]
    paths, findings = list(texts), []
    for i, one in enumerate(paths):
        for other in paths[i + 1:]:
            matcher = difflib.SequenceMatcher(None, texts[one], texts[other], autojunk=False)
            if matcher.real_quick_ratio() > SIMILAR and matcher.quick_ratio() > SIMILAR and matcher.ratio() > SIMILAR:
                findings.append(f"{_name(root, one)}:1: {matcher.ratio():.0%} of its lines are also in "
                                f"{_name(root, other)}")
    return findings

# SPDX-License-Identifier: Apache-2.0
# ptx/KERNELS.md: the one page that shows every kernel, what it declares, what the assembler used, and who picks it; and
# ptx/LOOPS.md: what the machine runs in the inner loops of those that multiply. Also finds the dispatch rows of a tree,
# for lint.py. Knows nothing of how kernels are built.
"""Write and check KERNELS.md and LOOPS.md."""

import json
import re
import subprocess
import sys
from pathlib import Path

from cubin import Cubin
from expand import MARKER, ExpandError
from header import parse_tree
from inner_loop import KINDS, summary
from rules import SM_REGS, SM_SMEM, SM_SMEM_RESERVED, SM_WARPS, ctas_per_sm

HEAD = f"""# Kernels

Written by `python3 tools/ptxc page --results BUILD/ptx`, which a build runs as target `kernels_page`. Do not edit.

Registers are declared / used on 12.x. CTAs per SM are computed for 12.x from shared memory
({SM_SMEM // 1024} KB, of which {SM_SMEM_RESERVED // 1024} KB for each CTA), registers ({SM_REGS // 1024}K) and
warps ({SM_WARPS}), with what stops one more. Rows are those of `src/ops/FAMILY/table.inc`, or of an operator's own
file there, that name the kernel, counted from the top, each type's copy of a row on its own; `then` is what rows launch
second, `as` what rows of other contracts alone name.
A dependent kernel begins before the launch before it has ended, and waits for it.
"""
LOOPS = """# Inner loops

Written by `python3 tools/ptxc page --results BUILD/ptx`, which a build runs as target `kernels_page`. Do not edit.

Of each kernel that multiplies with tensor cores the innermost loop with the most products, in machine code of 12.x:
how many instructions it has on all its ways together, and of which kinds; the rest is arithmetic, addresses and
branches. Copies go from memory to shared memory past registers, a bulk copy counts as one. `ahead` is the fewest
products that are issued between the load of a fragment by ldmatrix and the first product that takes it: 0 is a load
that is waited for, none one whose codes become numbers first, or that comes from elsewhere. `tools/spark list PATTERN
--results BUILD/ptx --loops` says the same, of 9.0 where a build has its code.
"""
HAS_ROWS = re.compile(r"^ *ROW[A-Z_]*\(", re.M)
COLUMNS = ("kernel", "file", "maths", "block", "smem", "regs", "CTAs/SM", "limits", "rows")


def preprocess(path, cc):
    """What the C preprocessor makes of a table of C++, or of a file that holds one: of what it includes, nothing."""
    command = [cc, "-E", "-undef", "-nostdinc", "-x", "assembler-with-cpp", "-"]
    alone = re.sub(r"^#include.*", "", path.read_text(encoding="utf-8"), flags=re.M)
    try:
        done = subprocess.run(command, input=alone, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ExpandError(f"cannot run the preprocessor '{cc}': {error.strerror}") from None
    if done.returncode:
        raise ExpandError(done.stderr.strip() or f"{cc} -E failed with {done.returncode}")
    return done.stdout


def table_rows(root, cc="cc"):
    """{kernel: [(family, row, path, line)]} of all dispatch tables; None when there is none yet. row is a number, or
    `then` of a kernel that is launched with those of its rows, `as` of one that only other contracts have. Tables are
    preprocessed, since rows of a family may be written once for all its types."""
    folder = Path(root).resolve().parent / "src" / "ops"
    of_operators = [f for f in folder.glob("*/*.cpp") if HAS_ROWS.search(f.read_text(encoding="utf-8"))]
    tables = sorted([*folder.glob("*/table.inc"), *of_operators])
    result, foreign = {}, {}
    for path in tables:
        number, line = 0, 0
        table = path.parent.name if path.suffix == ".inc" else path.stem
        for text in preprocess(path, cc).splitlines():
            marker = MARKER.match(text)
            if marker:
                line = int(marker[1])
                continue
            for names in re.findall(r"\bROW(?:_THEN(?:_TWO)?)?\(((?:\s*[a-z0-9_]+\s*,)+)", text):
                name, *then = names.replace(",", " ").split()
                number += 1
                result.setdefault(name, []).append((table, number, path, line))
                for other in then:
                    result.setdefault(other, []).append((table, "then", path, line))
            for kind, names in re.findall(
                    r'\bROW_(FOR|THEN_AS|BEHIND)\((?:\s*"[^"]*")+\s*,((?:\s*[a-z0-9_]+\s*,)+)', text):
                for other in names.replace(",", " ").split()[kind != "BEHIND":]:
                    result.setdefault(other, []).append((table, "then", path, line))
            for name in re.findall(r'\bROW_AS\((?:\s*"[^"]*")+\s*,\s*([a-z0-9_]+)', text):
                foreign.setdefault(name, []).append((table, "as", path, line))
            line += 1
    return foreign | result if tables else None


def _results(folder, variants):
    """{name: record} of what was assembled, or {} when no folder is given."""
    records = {}
    for variant in variants if folder else ():
        path = Path(folder) / f"{variant.name}.json"
        if path.is_file():
            records[variant.name] = json.loads(path.read_text(encoding="utf-8"))
    return records


def _block(variant):
    clusters = f", clusters of {'x'.join(map(str, variant.cluster))}" if variant.cluster else ""
    return f"{variant.block}{clusters}{', dependent' if variant.file.dependent else ''}"


def _cells(variant, record, rows):
    actual = record.get("regs", {}).get("120")
    fit, reason = ctas_per_sm(variant.block, variant.smem, actual or variant.regs)
    by = ", ".join(dict.fromkeys(f"{family} {row}" for family, row, *_ in (rows or {}).get(variant.name, ()))) or "none"
    return (f"`{variant.name}`", variant.file.relative[len("ptx/"):], variant.maths.replace("|", "\\|"),
            _block(variant), str(variant.smem),
            f"{variant.regs} / {actual if actual else '?'}",
            f"{fit} ({reason})", " ".join(map(str, variant.limits)) or "none", by)


def page_text(files, records, rows):
    """The whole page."""
    makers = sorted({r["ptxas"] for r in records.values() if "ptxas" in r})
    variants = [v for f in files for v in f.variants]
    out = [HEAD, f"{len(variants)} kernels from {len(files)} files; registers as used by ptxas "
           f"{', '.join(makers) or '(not assembled)'}."]
    for family in sorted({f.family for f in files}):
        out += ["", f"## {family}", "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        for variant in (v for v in variants if v.file.family == family):
            out.append("| " + " | ".join(_cells(variant, records.get(variant.name, {}), rows)) + " |")
    return "\n".join(out) + "\n"


def loop_of(variant, results, arch="120"):
    """inner_loop's summary of what was assembled, or None."""
    path = Path(results) / f"{variant.name}.{arch}.cubin"
    return summary(Cubin(path.read_bytes()).sections[f".text.{variant.name}"]) if path.is_file() else None


def loops_text(files, results, makers):
    """The page of inner loops."""
    columns = ("kernel", "instructions", *(name for name, _ in KINDS), "ahead")
    out = [LOOPS, f"Made by ptxas {', '.join(makers)}."]
    found = [(v.file.family, v, loop_of(v, results)) for f in files for v in f.variants]
    for family in sorted({family for family, _, loop in found if loop}):
        out += ["", f"## {family}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        for _, variant, loop in (row for row in found if row[0] == family and row[2]):
            ahead = "none" if loop["ahead"] is None else str(loop["ahead"])
            kinds = (str(loop.get(name, "")) for name, _ in KINDS)
            out.append("| " + " | ".join((f"`{variant.name}`", str(loop["all"]), *kinds, ahead)) + " |")
    return "\n".join(out) + "\n"


def pages(root, results, cc):
    """{path: text}; inner loops only where all kernels of a build are there."""
    files = parse_tree(root)
    variants = [v for f in files for v in f.variants]
    records = _results(results, variants)
    made = {Path(root) / "KERNELS.md": page_text(files, records, table_rows(root, cc))}
    if results and all((Path(results) / f"{v.name}.120.cubin").is_file() for v in variants if 120 in v.archs):
        makers = sorted({r["ptxas"] for r in records.values() if "ptxas" in r})
        made[Path(root) / "LOOPS.md"] = loops_text(files, results, makers)
    return made


def _without_measurements(text):
    """The page less what depends on the version of ptxas."""
    text = re.sub(r"as used by ptxas .*", "", text)
    return re.sub(r"(\| \d+) / \S+ \| \d+ \(\w+\) \|", r"\1 |", text)


def difference(root, results, cc="cc"):
    """'' when the pages are right, else a sentence. Registers and loops count only where the same ptxas made them."""
    for path, wanted in pages(root, results, cc).items():
        found = path.read_text(encoding="utf-8") if path.is_file() else ""
        maker = re.compile(r"ptxas (\(?[\d.]*.*)\.$", re.M)
        if maker.findall(wanted) != maker.findall(found):
            if path.name == "LOOPS.md" and found:
                continue
            wanted, found = _without_measurements(wanted), _without_measurements(found)
        if wanted == found:
            continue
        lines, before = wanted.splitlines(), found.splitlines()
        at = next((i for i, (a, b) in enumerate(zip(lines, before)) if a != b), min(len(lines), len(before)))
        line = lines[at] if at < len(lines) else "(no such line)"
        return (f"ptx/{path.name}:{at + 1}: out of date; here it would say:\n  {line}\n"
                "build the target kernels_page and commit the page")
    return ""


def run(root, results, check, cc):
    if check:
        problem = difference(root, results, cc)
        if problem:
            print(problem, file=sys.stderr)
        return 1 if problem else 0
    for path, text in pages(root, results, cc).items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return 0

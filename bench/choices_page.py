#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# docs/choices.md: which kernel the library would take for the same shapes on several chips, and why. Made of what
# spark_op_explain says on the emulator's profiles; nothing is measured. Run by CTest, which compares the page.
"""Write or compare docs/choices.md.

  choices_page.py --bench FILE --emu FILE            exit status 1 where the page is not what the library says
  choices_page.py --bench FILE --emu FILE --write    write it anew
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "choices.md"
CHIPS = {"h200": "H200", "gb10": "GB10", "rtx5090": "RTX 5090"}
SEED, SHAPES = 20, 36
GIVEN = ("attention b=2 q=4096 k=4096 h=32/8 d=128 BF16 causal",  # what is drawn has no codes
         "attention b=2 q=4096 k=4096 h=32/8 d=128 BF16 causal FP8-cache",
         "attention b=2 q=4096 k=4096 h=32/8 d=128 BF16 causal FP8-cache FP8-queries",
         "attention b=2 q=4096 k=4096 h=32/8 d=128 BF16 causal FP8-cache FP8-queries page=16",
         "attention b=1 q=512 k=512 h=32/8 d=64 BF16 causal FP8-cache FP8-queries",
         "attention b=8 q=1 k=32768 h=32/8 d=128 BF16 FP8-cache FP8-queries")
LINE = re.compile(r"(.) \w+?__(\w+) +yes  ([\d.]+) us: (\d+) blocks, (\d+) an SM, steps (\d+)")
HEAD = f"""# Choices

Written by `bench/choices_page.py` from what `spark_op_explain` says; do not edit. For the same {SHAPES} shapes (seed
{SEED} of `spark-bench --choices`) and {len(GIVEN)} given ones, which kernel is taken on which chip, and why: blocks x
steps of the choice, and how many of its blocks an SM holds; then the next one of another cost, and how much more it
would take.

**All times are predictions of the cost model, no measurements.** Its constants were fitted to an H200. On GB10 and RTX
5090 no kernel of this library was timed: what stands there follows from published rates of these chips
(`src/dispatch/chips.inc`). Blocks an SM of an H200 are counted with the registers of 12.0's code, unless the build
assembles for 9.0 (`-DSPARK_ARCHS="120;90"`).
"""


def explained(bench, emu, chip):
    """[(name, shape, explanation)] of the drawn and the given shapes on a profile of the emulator."""
    with tempfile.TemporaryDirectory() as folder:
        file, given, found = Path(folder) / "explained.jsonl", Path(folder) / "given", []
        given.write_text("\n".join(GIVEN) + "\n")
        for which in ([str(SEED), str(SHAPES)], ["rows", str(len(GIVEN)), "--shapes", given]):
            subprocess.run([bench, "--choices", *which, "--explain", "--json", file], check=True,
                           env=os.environ | {"LIBSPARK_DRIVER": emu, "LIBSPARK_EMU": f"profile={chip}"})
            found += [(shape["name"], shape["shape"], shape["explain"])
                      for shape in map(json.loads, file.read_text().splitlines()[1:])]
        return found


def cell(text):
    """The choice on one chip, in a cell of the table."""
    rows = [match.groups() for match in map(LINE.match, text.splitlines()) if match]
    _, kernel, us, blocks, resident, steps = next(row for row in rows if row[0] == "*")
    said = f"`{kernel}` {float(us):.1f} us: {blocks} x {steps}, {resident} an SM"
    behind = sorted((float(row[2]), row[1]) for row in rows if float(row[2]) > float(us))
    if not behind:
        return said
    return f"{said}; `{behind[0][1]}` +{100 * (behind[0][0] / float(us) - 1):.0f} %"


def page(bench, emu):
    chips = [explained(bench, emu, chip) for chip in CHIPS]
    lines = [HEAD]
    for name in dict.fromkeys(name for name, _, _ in chips[0]):
        lines += [f"## {name}", "", f"| shape | {' | '.join(CHIPS.values())} |", "|---" * (1 + len(CHIPS)) + "|"]
        for same in zip(*chips):
            if same[0][0] == name:
                lines.append(f"| {same[0][1]} | {' | '.join(cell(text) for _, _, text in same)} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench", required=True)
    parser.add_argument("--emu", required=True)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    text = page(args.bench, args.emu)
    if args.write:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("docs/choices.md is not what the library chooses; run bench/choices_page.py with --write")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what tests compare the emulator with, from what sweep.py brought from a card:

    samples.py SWEEP_DIR        needs numpy

tests/emu/insn/approx_card_*.ptx: every function on 16 inputs at two places of each exponent and sign, halves on all;
tests/emu/num/mufu_sums.inc: of the functions with .ftz and tanh, sums over 2^26 inputs each, and over 65,536 of those.
"""
import lzma
import pathlib
import sys

import numpy

import fit
import sweep

ROOT = pathlib.Path(__file__).resolve().parents[2]
TURNS = {f: text for f, text in sweep.ALL.items() if f[:3] in ("sin", "cos", "tan")}
NAMES = {"approx_card_turns": TURNS, "approx_card_powers": {f: sweep.ALL[f] for f in sweep.ALL if f not in TURNS},
         "approx_card_half": sweep.HALVES, "approx_card_div": sweep.PAIRS}
PLACES = {"approx_card_half": (0, 6, 64), "approx_card_div": (0, 4, 16)}


LOOP = """    mov.u32 n, 0;
    mov.u32 i, 0;
NAME:
    mad.lo.u32 x, k, FIRST;
    add.u32 x, x, i;
    BODY
MIX    add.u32 i, i, 1;
    setp.lt.u32 p, i, COUNT;
    @p bra NAME;
    ld.param.u64 out, [p_NAME];
    shr.u32 t, k, 5;
    mad.wide.u32 out, t, 4, out;
    red.global.add.u32 [out], n;
"""


def mixed(x, y):
    """As the kernel `sums` of sweep.py mixes, 32 bits each."""
    x, y = x.astype(numpy.uint64), y.astype(numpy.uint64)
    word = numpy.uint64(0xffffffff)
    h = (y * numpy.uint64(0x9e3779b1) + (x & numpy.uint64(0xffff)) * numpy.uint64(0x85ebca6b)) & word
    h ^= h >> numpy.uint64(15)
    h = h * numpy.uint64(0x2c1b3c6d) & word
    return h ^ h >> numpy.uint64(13)


def inputs(kind):
    """(first, shift of a thread's number, inputs of a thread) of 1,024 threads."""
    return PLACES.get(kind, (0x155000, 22, 16))


def results(data, kind, function):
    first, shift, each = inputs(kind)
    x = (first + (numpy.arange(1024)[:, None] << shift) + numpy.arange(each)).astype(numpy.uint32)
    if function in sweep.ALL:
        y = sweep.unpack(data.member(f"runs/{function}")).reshape(1024, -1)[:, :each]
    else:
        raw = lzma.decompress(data.member(("halves/" if function in sweep.HALVES else "pairs/") + function))
        y = numpy.frombuffer(raw, numpy.uint16 if len(raw) == 1 << 17 else numpy.uint32)[x]
    return (mixed(x, y).reshape(32, -1).sum(1) & numpy.uint64(0xffffffff)).tolist()


def ptx(data, kind):
    first, shift, each = inputs(kind)
    head, params, body = [], [], []
    for function, text in NAMES[kind].items():
        name = function.replace(".", "_")
        sums = [f"{value:#x}" for value in results(data, kind, function)]
        head += [f"//! inout {name} u32[32] = 0", f"//! bits {name} = {', '.join(sums[:8])}"]
        head += [f"//! + , {', '.join(sums[i:i + 8])}" for i in range(8, 32, 8)]
        params.append(f".param .u64 p_{name}")
        body.append(LOOP.replace("NAME", name).replace("FIRST", f"{1 << shift}, {first}").replace("COUNT", str(each))
                    .replace("BODY", text).replace("MIX", sweep.MIX))
    return "\n".join([
        "// SPDX-License-Identifier: Apache-2.0",
        "// Sums of mixed results, as an NVIDIA H200 gave them: written by tests/card/samples.py. A thread takes",
        f"// {each} inputs from {first:#x} + its number * 2^{shift} on, and 32 threads one sum.",
        "//! needs sm_90", "//! grid 4 block 256", *head, ".version 8.0\n.target sm_90\n.address_size 64\n",
        f".visible .entry k({', '.join(params)}) {{", f"    {sweep.DECLARE}", "    .reg .b32 k;",
        "    mov.u32 t, %ctaid.x;\n    mov.u32 k, %tid.x;\n    mad.lo.u32 k, t, 256, k;",
        "".join(body) + "    ret;\n}\n"])


def table(data, function):
    sums = numpy.frombuffer(data.member(f"sums/{function}"), numpy.uint32)
    groups = (sums.reshape(64, 1024).sum(1, dtype=numpy.uint64) & numpy.uint64(0xffffffff)).tolist()
    lines = [f"SUMS({function.split('.')[0]},"]
    for group in range(0, 64, 4):
        pairs = [f"{{{groups[g]:#010x}, {int(sums[g * 1024 + g * 389 % 1024]):#010x}}}"
                 for g in range(group, group + 4)]
        lines.append("    " + ", ".join(pairs) + ("," if group < 60 else ")"))
    return lines


def main():
    data = fit.Sweep(sys.argv[1])
    for kind in NAMES:
        (ROOT / "tests/emu/insn" / f"{kind}.ptx").write_text(ptx(data, kind))
    lines = ["// SPDX-License-Identifier: Apache-2.0",
             "// Written by tests/card/samples.py from a sweep of an NVIDIA H200. SUMS(function, {sum of the 2^26",
             "// inputs from g * 2^26 on, sum of the 65,536 from (g * 1,024 + g * 389 % 1,024) * 65,536 on}...)."]
    for function in ("ex2.ftz", "lg2.ftz", "rcp.ftz", "rsqrt.ftz", "sqrt.ftz", "sin.ftz", "cos.ftz", "tanh"):
        lines += table(data, function)
    (ROOT / "tests/emu/num/mufu_sums.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

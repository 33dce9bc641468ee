# SPDX-License-Identifier: Apache-2.0
# `ptxc new`: a kernel file, with the header to fill in and a body that assembles.
# Called by the command line only. Knows nothing of dispatch tables.
"""Start a kernel file from the template."""

import re
import sys
from pathlib import Path

from header import kernel_paths, parse_file
from kernel_file import HeaderError
from rules import check_contract, check_way

TEMPLATE = """// SPDX-License-Identifier: Apache-2.0
{header}
//
// maths      every output as a formula of the inputs, with the roundings.
// tiles      what one block makes; the grid; how ragged edges are handled.
// smem       the map, drawn; "none" here.
// warps      which warp owns what.
// regs       what a lane holds, in registers.
// lanes      which map of lib/isa or lib/tile the fragments follow.
// sync       who waits for whom, and what for.
// drain      what is still in flight at exit: nothing.
// numerics   accumulation order and width, where rounding happens.
#include "base.ptxh"

SPARK_ENTRY
{{
{body}}}
"""

FIRST_HEADER = """//! kernel   {name}    y[i] = x[i]    (say here what it computes, in one line)
//! block    256
//! params   x:ptr y:ptr n:u32
//! grid     ceil(n,BLOCK)
//! limits   x_align>=4 y_align>=4
//! smem     0
//! deterministic yes
//! variant  plain   smem=0 regs=32"""

FIRST_BODY = """    .reg .pred past;
    .reg .u32  i, cta, count, word;
    .reg .u64  from, to, offset;
    mov.u32          i, %tid.x;
    mov.u32          cta, %ctaid.x;
    mad.lo.u32       i, cta, SPARK_BLOCK, i;
    ld.param.u32     count, [n];
    setp.ge.u32      past, i, count;
    @past ret;
    ld.param.u64     from, [x];
    ld.param.u64     to, [y];
    mul.wide.u32     offset, i, 4;
    add.u64          from, from, offset;
    add.u64          to, to, offset;
    ld.global.b32    word, [from];
    st.global.b32    [to], word;
    ret;
"""


def second_header(first, word):
    """The header of a contract's first file, with its parameters and one variant, which bears the word."""
    lines, key, variants = [], "", 0
    for line in first.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//! "):
            continue
        key = line.split()[1] if line[4] != " " else key  # else more of the line before
        if key == "flags" or (key == "params" and line[4] == " "):
            continue
        if key == "params":
            line = f"//! params   @{first.name}"
        if key == "variant":
            variants += 1
            line = re.sub(r"^(//! variant\s+)\w+", rf"\g<1>{word}", line)
        if variants <= 1:
            lines.append(line)
    return "\n".join(lines)


def texts(folder, name, word):
    """(header, body) of the file NAME.ptx, or of NAME.WORD.ptx beside it."""
    if not word:
        return FIRST_HEADER.format(name=name), FIRST_BODY
    first = folder / f"{name}.ptx"
    if not first.exists():
        raise HeaderError([f"there is no {first.name} beside which {name}.{word}.ptx could stand: start that first"])
    return second_header(first, word), "    ret;\n"


def run(root, name, family):
    if "/" in name:
        family, _, name = name.partition("/")
    name, _, word = name.partition(".")
    problem = check_contract(name) or (check_way(word) if word else "")
    if problem:
        print(problem, file=sys.stderr)
        return 1
    families = sorted({p.parent.name for p in kernel_paths(root)})
    family = family or next((f for f in families if f == name.split("_")[0]), None)
    if not family or not re.fullmatch(r"[a-z][a-z0-9]*", family) or family == "lib":
        print(f"which folder is {name} for? Say --family NAME; there are: {' '.join(families) or 'none yet'}",
              file=sys.stderr)
        return 2
    path = Path(root) / family / (f"{name}.{word}.ptx" if word else f"{name}.ptx")
    if path.exists():
        print(f"ptx/{family}/{path.name} exists; another algorithm for {name} is {name}.WORD.ptx", file=sys.stderr)
        return 1
    try:
        header, body = texts(path.parent, name, word)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEMPLATE.format(header=header, body=body), encoding="utf-8")
        variant = parse_file(path, root).variants[0]
    except HeaderError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"ptx/{family}/{path.name}   {variant.name}\n"
          f"next: write its header and body, then a row in src/ops/{family}/table.inc (docs/adding-a-kernel.md)")
    return 0

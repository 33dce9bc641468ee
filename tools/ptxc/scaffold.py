# SPDX-License-Identifier: Apache-2.0
# `ptxc new`: the first file of a kernel, with the header to fill in and a body that assembles.
# Called by the command line only. Knows nothing of dispatch tables.
"""Start a kernel file from the template."""

import re
import sys
from pathlib import Path

from header import kernel_paths, parse_file
from kernel_file import HeaderError
from rules import check_contract

TEMPLATE = """// SPDX-License-Identifier: Apache-2.0
//! kernel   {name}    y[i] = x[i]    (say here what it computes, in one line)
//! block    256
//! params   x:ptr y:ptr n:u32
//! grid     ceil(n,BLOCK)
//! limits   x_align>=4 y_align>=4
//! smem     0
//! deterministic yes
//! variant  plain   smem=0 regs=32
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
    .reg .pred past;
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
}}
"""


def run(root, name, family):
    if "/" in name:
        family, _, name = name.partition("/")
    problem = check_contract(name)
    if problem:
        print(problem, file=sys.stderr)
        return 1
    families = sorted({p.parent.name for p in kernel_paths(root)})
    family = family or next((f for f in families if f == name.split("_")[0]), None)
    if not family or not re.fullmatch(r"[a-z][a-z0-9]*", family) or family == "lib":
        print(f"which folder is {name} for? Say --family NAME; there are: {' '.join(families) or 'none yet'}",
              file=sys.stderr)
        return 2
    path = Path(root) / family / f"{name}.ptx"
    if path.exists():
        print(f"ptx/{family}/{name}.ptx exists; a second algorithm for it is {name}.WORD.ptx", file=sys.stderr)
        return 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEMPLATE.format(name=name), encoding="utf-8")
    try:
        variant = parse_file(path, root).variants[0]
    except HeaderError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"ptx/{family}/{name}.ptx   {variant.name}\n"
          f"next: write its header and body, then a row in src/ops/{family}/table.inc (docs/adding-a-kernel.md)")
    return 0

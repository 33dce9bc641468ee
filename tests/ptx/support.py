# SPDX-License-Identifier: Apache-2.0
# What the tests of the kernel compiler share: a scratch tree with planted kernels, and where the tools are.
# Called by the *_test.py files beside it. Knows nothing of the real kernels.
import os
import sys
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools" / "ptxc"))

PTXAS = os.environ.get("SPARK_PTXAS", "")
CC = os.environ.get("SPARK_CC", "cc")

BASE = """.version 8.8
.target SPARK_TARGET
.address_size 64
.extern .shared .align 128 .b8 smem[];
"""

HEADER = """// SPDX-License-Identifier: Apache-2.0
//! kernel   fill    y[i] = value
//! block    128
//! params   y:ptr value:f32
//! grid     ?
//! limits   y_align>=4
//! smem     0
//! deterministic yes
//! variant  plain   smem=0 regs=32
"""

BODY = """#include "base.ptxh"
SPARK_ENTRY
{
    .reg .u32 i;
    .reg .u64 to;
    .reg .f32 v;
    mov.u32      i, %tid.x;
    ld.param.u64 to, [y];
    ld.param.f32 v, [value];
    mad.wide.u32 to, i, 4, to;
    st.global.f32 [to], v;
    ret;
}
"""


class ScratchTree(unittest.TestCase):
    """A tree with ptx/lib/base.ptxh and whatever a test plants."""

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="ptx test ")  # the space is meant
        self.addCleanup(self.scratch.cleanup)
        self.top = Path(self.scratch.name).resolve()
        self.root = self.top / "ptx"
        self.plant("lib/base.ptxh", BASE)

    def plant(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def changed(text, *pairs):
    """text with each old replaced by its new; an old that is not there is a mistake of the test."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text

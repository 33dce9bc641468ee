# SPDX-License-Identifier: Apache-2.0
# A head width and a number of warps are a line in a kernel's header: attention with widths that no kernel of the tree
# has, and with blocks of other sizes, assembles without a spill, and gives the oracle's results on the emulator.
# Run by CTest as ptx.width, with width_run (SPARK_WIDTH_RUN) and the emulator (SPARK_EMU). Needs ptxas.
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import PTXAS, TOP

from assemble import AssembleError, assemble, find_variant
from kernel_file import KINDS, HeaderError

RUN, EMU = os.environ.get("SPARK_WIDTH_RUN"), os.environ.get("SPARK_EMU")
CACHE = os.environ.get("SPARK_KERNEL_CACHE")


@unittest.skipUnless(PTXAS and RUN and EMU, "SPARK_PTXAS, SPARK_WIDTH_RUN and SPARK_EMU are not set")
class Width(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="ptx width ")
        self.addCleanup(scratch.cleanup)
        self.top = Path(scratch.name)
        self.root = self.top / "ptx"

    def attention(self, width, warps=4, mf=1, nk=1, pl=2, regs=255):
        """Attention for heads of this width: one variant in the place of the file's own."""
        shutil.copytree(TOP / "ptx", self.root, dirs_exist_ok=True)
        path = self.root / "attention" / "attention.ptx"
        smem, block, tile = (16 * warps * mf + 32 * nk * pl) * width * 2, 32 * warps, 16 * warps * mf
        line = (f"//! variant  other D={width} W={warps} MF={mf} NK={nk} PL={pl} KEPT=0 PAGES=0 PART=0 KV=16 KR=0 OC=0 "
                f"smem={smem} regs={regs}\n")
        text = re.sub(r"(?m)^(//! variant .*\n(//!   .*\n)*)+", line, path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        variant = find_variant("attention_bf16__other", self.root, path)
        assemble(variant, self.root, self.top / "out", PTXAS, {120: KINDS}, CACHE)
        words = [variant.name, width, tile, block, smem]
        done = subprocess.run([RUN, EMU, self.top / "out" / f"{variant.name}.120.ptx", *map(str, words)],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_width_of_the_tree(self):
        self.attention(64)

    def test_other_widths(self):
        for width in (80, 112, 192):
            with self.subTest(width=width):
                self.attention(width)

    def test_other_numbers_of_warps(self):
        for warps in (2, 8):
            with self.subTest(warps=warps):
                self.attention(96, warps)

    def test_more_keys_at_a_time(self):
        self.attention(80, nk=4)

    def test_what_one_block_cannot_hold_is_refused(self):
        """Shared memory for queries and keys of 576 columns; registers for sums of 32 queries and 256 columns."""
        with self.assertRaisesRegex(HeaderError, "smem=147456 is more than one block may have"):
            self.attention(576)
        with self.assertRaisesRegex(AssembleError, "bytes spilled to memory .* none is allowed"):
            self.attention(256, mf=2)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
# The grammar of //! blocks: what is read from a good one, and the exact words for each way to get it wrong.
# Run by CTest as ptx.header. Needs no compiler.
import contextlib
import io
import unittest

from support import BODY, HEADER, ScratchTree, changed

import rules
import scaffold
import table
from assemble import EVERY
from header import parse_file, parse_tree
from kernel_file import HeaderError


class Started(ScratchTree):
    """Files that `ptxc new` starts."""

    def started(self, name):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return scaffold.run(self.root, name, None), said.getvalue()

    def test_the_first_file_of_a_contract(self):
        self.assertEqual(self.started("fill/fill_f32")[0], 0)
        self.assertEqual([v.name for v in parse_file(self.root / "fill/fill_f32.ptx", self.root).variants],
                         ["fill_f32__plain"])

    def test_another_algorithm_takes_the_firsts_header(self):
        self.plant("sum/sum.ptx", """//! kernel   sum_{T}   s = sum x
//! for      T bf16 f16
//! block    32*WARPS
//! params   x:ptr s:ptr
//!          n:i64 flags:u32
//! flags    wide:0
//! grid     ceil(n,BLOCK)
//! limits   n%VEC x_align>=2
//!          s_align>=4
//! smem     0
//! deterministic yes
//! variant  x8      VEC=8 WARPS=4   smem=0 regs=40
//! variant  plain   VEC=1 WARPS=8   smem=0 regs=32
""")
        self.assertEqual(self.started("sum/sum.tree"), (0, "ptx/sum/sum.tree.ptx   sum_bf16__tree\nnext: write its "
                         "header and body, then a row in src/ops/sum/table.inc (docs/adding-a-kernel.md)\n"))
        first, second = (parse_file(self.root / f"sum/sum{word}.ptx", self.root) for word in ("", ".tree"))
        self.assertEqual([v.name for v in second.variants], ["sum_bf16__tree", "sum_f16__tree"])
        self.assertEqual(second.variants[0].limits, first.variants[0].limits)
        self.assertEqual(second.variants[0].params, first.variants[0].params)

    def test_what_cannot_be_started(self):
        self.assertEqual(self.started("sum/sum.tree"), (1, "there is no sum.ptx beside which sum.tree.ptx could stand: "
                                                           "start that first\n"))
        self.assertIn("carries 'fast'", self.started("sum/sum.fast")[1])
        self.assertEqual(self.started("sum/sum_f32")[0], 0)
        self.assertIn("another algorithm for sum_f32 is sum_f32.WORD.ptx", self.started("sum/sum_f32")[1])


class Good(ScratchTree):
    def test_everything_is_read(self):
        path = self.plant("gemm/gemm.ptx", """//! kernel   gemm_{T}_{L}   D = A op(B), {T}
//! for      T bf16 f16 ; L tn nn nt
//! block    32*WARPS
//! params   a:ptr m:u32 lda:i64
//!          alpha:f32 n:i32 flags:u32
//! flags    wide:0 kind:4-6
//! grid     ceil(m,TM)*n min(m,BLOCK/2) ?
//! limits   k%TK a_align>=16 n<=2147483647 b==1
//! smem     (TM+TN)*TK*2*ST
//! deterministic no
//! order    k_by_{TK}
//! variant  128x64x32_s3   TM=128 TN=64 TK=32 ST=3 WARPS=8   smem=36864 regs=128 ctas_per_sm=2
//! variant  64x64x32_s2    TM=64 TN=64 TK=32 ST=2 WARPS=4    smem=16384 regs=0x60
""")
        parsed = parse_file(path, self.root)
        self.assertEqual([v.name for v in parsed.variants][:3],
                         ["gemm_bf16_tn__128x64x32_s3", "gemm_bf16_tn__64x64x32_s2", "gemm_bf16_nn__128x64x32_s3"])
        self.assertEqual(len(parsed.variants), 12)
        first, second = parsed.variants[:2]
        self.assertEqual((first.maths, first.axes), ("D = A op(B), bf16", {"T": "bf16", "L": "tn"}))
        self.assertEqual((first.block, first.smem, first.regs, first.ctas_per_sm), (256, 36864, 128, 2))
        self.assertEqual((second.block, second.regs, second.ctas_per_sm, second.ctas_declared), (128, 96, 5, False))
        self.assertEqual([str(l) for l in first.limits], ["k%32", "a_align>=16", "n<=2147483647", "b==1"])
        self.assertEqual([(p.name, p.offset) for p in first.params.params],
                         [("a", 0), ("m", 8), ("lda", 16), ("alpha", 24), ("n", 28), ("flags", 32)])
        self.assertEqual((first.params.bytes, first.params.struct_bytes, first.params.struct), (36, 40, "gemm_params"))
        self.assertEqual([(f.name, f.at, f.bits) for f in first.params.flags], [("wide", 0, 1), ("kind", 4, 3)])
        self.assertEqual(parsed.grid, ("(ceil_div(static_cast<int64_t>(p.m), int64_t{TM}) * static_cast<int64_t>(p.n))",
                                       "std::min(static_cast<int64_t>(p.m), (int64_t{block} / int64_t{2}))", "?"))
        self.assertFalse(first.deterministic)
        self.assertEqual(first.order, "k_by_32")

    def test_launch_of_clusters_and_dependent_ones(self):
        path = self.plant("fill/fill.ptx", changed(
            HEADER, ("y:ptr value:f32", "value:f32 y:tensormap n:u32"),
            ("grid     ?", "grid     n ?\n//! cluster  CX 2\n//! dependent yes"), ("plain ", "plain CX=4 ")))
        parsed = parse_file(path, self.root)
        self.assertEqual((parsed.variants[0].cluster, parsed.dependent), ((4, 2, 1), True))
        self.assertEqual([(p.name, p.offset, p.size) for p in parsed.params.params],
                         [("value", 0, 4), ("y", 64, 128), ("n", 192, 4)])
        self.assertEqual((parsed.params.bytes, parsed.params.struct_bytes), (196, 256))
        self.assertIn("return whole_clusters(make_grid(static_cast<int64_t>(p.n), y), cluster);",
                      table.header_text([parsed], EVERY))
        parsed = parse_file(self.plant("fill/fill.ptx", HEADER), self.root)
        self.assertEqual((parsed.variants[0].cluster, parsed.dependent), ((), False))
        self.assertNotIn("whole_clusters", table.header_text([parsed], EVERY))

    def test_each_for_line_has_the_variants_below_it(self):
        path = self.plant("fill/fill.ptx", changed(HEADER, ("kernel   fill ", "kernel   fill_{T} "), (
            "//! variant  plain   smem=0 regs=32\n",
            "//! for      T f32 f16\n//! variant  plain   SIZE=4 smem=0 regs=32\n"
            "//! for      T e4m3\n//! variant  plain   SIZE=1 smem=0 regs=32\n"
            "//! variant  x4   SIZE=1 smem=0 regs=24\n")))
        parsed = parse_file(path, self.root)
        self.assertEqual([(v.name, v.axes, v.constants["SIZE"]) for v in parsed.variants],
                         [("fill_f32__plain", {"T": "f32"}, 4), ("fill_f16__plain", {"T": "f16"}, 4),
                          ("fill_e4m3__plain", {"T": "e4m3"}, 1), ("fill_e4m3__x4", {"T": "e4m3"}, 1)])

    def test_params_of_another_file(self):
        self.plant("fill/fill.ptx", HEADER)
        other = self.plant("fill/fill.wide.ptx", changed(HEADER, ("y:ptr value:f32", "@fill.ptx"), ("plain", "wide")))
        parsed = parse_file(other, self.root)
        self.assertEqual((parsed.params.struct, parsed.params.owner), ("fill_params", "ptx/fill/fill.ptx"))
        self.assertEqual([p.name for p in parsed.depends], ["fill.ptx"])
        self.assertEqual((parsed.stem, parsed.constants), ("fill_wide", ()))

    def test_params_of_another_file_and_more(self):
        self.plant("fill/fill.ptx", HEADER)
        other = self.plant("fill/fill.wide.ptx",
                           changed(HEADER, ("y:ptr value:f32", "@fill.ptx z:ptr"), ("plain", "wide")))
        parsed = parse_file(other, self.root)
        self.assertEqual((parsed.params.struct, parsed.params.owner), ("fill_wide_params", "ptx/fill/fill.wide.ptx"))
        self.assertEqual([(p.name, p.offset) for p in parsed.params.params], [("y", 0), ("value", 8), ("z", 16)])

    def test_tail_padding(self):
        parsed = parse_file(self.plant("fill/fill.ptx", HEADER), self.root)
        self.assertEqual(parsed.variants[0].order, parsed.variants[0].name)
        self.assertEqual((parsed.params.bytes, parsed.params.struct_bytes), (12, 16))

    def test_occupancy(self):
        self.assertEqual(rules.ctas_per_sm(256, 49200, 128), (2, "smem"))
        self.assertEqual(rules.ctas_per_sm(384, 0, 168), (1, "regs"))
        self.assertEqual(rules.ctas_per_sm(32, 0, 32), (24, "ctas"))
        self.assertEqual(rules.ctas_per_sm(256, 0, 32), (6, "warps"))

    def test_ids(self):
        self.assertEqual(table.fnv1a(b""), 0xCBF29CE484222325)
        self.assertEqual(table.fnv1a(b"a"), 0xAF63DC4C8601EC8C)

    def test_checksums_are_xxh64(self):  # of no, of one and of two stripes, and of what is left behind them
        known = {b"": 0xEF46DB3751D8E999, b"a": 0xD24EC4F1A98C6E5B, b"asdf": 0x415872F599CEA71E,
                 b"Call me Ishmael. Some years ago--never mind how long precisely-": 0x02A2E85470D6FD96}
        self.assertEqual({data: table.xxh64(data) for data in known}, known)


class Bad(ScratchTree):
    def refuse(self, words, *pairs, text=HEADER, name="fill/fill.ptx"):
        path = self.plant(name, changed(text, *pairs) + BODY)
        with self.assertRaises(HeaderError) as caught:
            parse_file(path, self.root)
        self.assertIn(words, str(caught.exception))
        for finding in caught.exception.findings:
            self.assertRegex(finding, r"^ptx/[\w/.]+:\d+: \S")

    def test_line_is_named(self):
        self.refuse("ptx/fill/fill.ptx:9: variant plain: regs= is missing", (" regs=32", ""))

    def test_unknown_key(self):
        self.refuse("starts with no known key: kernel for", ("//! block ", "//! blocks"))

    def test_missing_line(self):
        self.refuse("the header has no 'smem' line", ("//! smem     0\n", ""))

    def test_line_given_twice(self):
        self.refuse("ptx/fill/fill.ptx:4: 'block' is given twice (first on line 3)",
                    ("//! block    128\n", "//! block    128\n//! block    128\n"))

    def test_no_maths(self):
        self.refuse("'kernel' needs the name and, after it, what it computes", ("fill    y[i] = value", "fill"))

    def test_name_is_not_the_files(self):
        self.refuse("'flood' does not start with the file's stem 'fill'", ("kernel   fill", "kernel   flood"))

    def test_name_grammar(self):
        for bad in ("fill_", "fill__x", "fill_F32", "fill_x-y"):
            self.refuse("is no contract name", ("kernel   fill", f"kernel   {bad}"))

    def test_names_that_say_nothing(self):
        self.refuse("carries a version number ('v2')", ("kernel   fill", "kernel   fill_v2"))
        self.refuse("carries 'fast'", ("variant  plain", "variant  fast"))
        self.refuse("carries a chip name ('sm120')", ("variant  plain", "variant  x4_sm120"))
        self.refuse("is no variant name", ("variant  plain", "variant  Plain"))

    def test_axis_unused_or_undeclared(self):
        self.refuse("{T} stands in only one of", ("kernel   fill ", "kernel   fill_{T} "))
        self.refuse("{T} stands in only one of", ("//! block", "//! for T f32\n//! block"))
        self.refuse("axis T needs distinct values", ("//! block", "//! for T f32 f32\n//! block"))
        self.refuse("no variant stands below this 'for' line", ("kernel   fill ", "kernel   fill_{T} "),
                    ("//! block", "//! for T f32\n//! block"), ("regs=32\n", "regs=32\n//! for T f16\n"))

    def test_params(self):
        self.refuse("param 'y:half': write name:type with type one of ptr u64", ("y:ptr", "y:half"))
        self.refuse("param 'y' is given twice", ("value:f32", "y:f32"))
        self.refuse("param 'float' is no usable name", ("value:f32", "float:f32"))
        self.refuse("params @gone.ptx: no such other file in fill/", ("y:ptr value:f32", "@gone.ptx"))

    def test_flags(self):
        given = ("value:f32", "flags:u32\n//! flags    wide:0 kind:4-6")
        self.refuse("the parameter flags and the line flags need each other", ("value:f32", "flags:u32"))
        self.refuse("the parameter flags and the line flags need each other",
                    ("value:f32", "value:f32\n//! flags    wide:0"))
        self.refuse("flags: 'Wide:0': write name:bit or name:first-last", given, ("wide:0", "Wide:0"))
        self.refuse("flags: 'kind:6-4': bits are 0 to 31, the lower first", given, ("4-6", "6-4"))
        self.refuse("flags: 'kind:0-6' is given twice, or a bit of it", given, ("4-6", "0-6"))
        self.plant("fill/fill.ptx", changed(HEADER, given))
        self.refuse("flags are fill.ptx's, as the parameters", ("y:ptr value:f32", "@fill.ptx\n//! flags    wide:0"),
                    name="fill/fill.wide.ptx")

    def test_grid(self):
        self.refuse("the header has no 'grid' line", ("//! grid     ?\n", ""))
        for bad, words in (("m", "'m' is neither a parameter nor a constant of every variant"),
                           ("value*", "'value*' is not an expression"), ("ceil(value)", "only parameters"),
                           ("value**2", "only parameters, constants, BLOCK"), ("1 1 1 1", "one to three dimensions")):
            self.refuse(words, ("grid     ?", f"grid     {bad}"))

    def test_cluster(self):
        for bad, words in (("4 4", "cluster: 4 x 4 blocks: at least 1 along each dimension and 8 in all"),
                           ("0", "cluster: 0 blocks"), ("CX", "cluster: "), ("1 1 1 1", "one to three dimensions")):
            self.refuse(words, ("grid     ?", f"grid     ?\n//! cluster  {bad}"))

    def test_dependent(self):
        self.refuse("dependent 'maybe': yes, own or no", ("grid     ?", "grid     ?\n//! dependent maybe"))

    def test_constants_of_every_variant(self):
        self.refuse("variant x4: VEC must stand in all variants or none",
                    ("regs=32\n", "regs=32\n//! variant  x4   VEC=4 smem=0 regs=32\n"))

    def test_limits(self):
        self.refuse("limit 'y_align=4': write name%N", ("y_align>=4", "y_align=4"))
        self.refuse("limit 'k%TK': 'TK' is no constant of this variant", ("y_align>=4", "k%TK"))
        self.refuse("limit 'n<=34359738368': ceil(n,16) is at most 2147483647 blocks, for n up to 34359738352",
                    ("value:f32", "n:i64"), ("grid     ?", "grid     ceil(n,16)"), ("y_align>=4", "n<=34359738368"))
        self.refuse("limit 'k%0': a divisor is at least 1", ("y_align>=4", "k%0"))

    def test_shared_memory(self):
        self.refuse("smem=0 is declared, but 128*4 gives 512", ("//! smem     0", "//! smem     128*4"))
        self.refuse("smem 'TN*4': 'TN' is no constant", ("//! smem     0", "//! smem     TN*4"))
        self.refuse("smem '__import__(1)': only integers", ("//! smem     0", "//! smem     __import__(1)"))
        self.refuse("more than one block may have on 12.x (101376)", ("//! smem     0", "//! smem     102400"),
                    ("smem=0", "smem=102400"))

    def test_block(self):
        self.refuse("block 100: a multiple of 32", ("block    128", "block    100"))
        self.refuse("block 2048: a multiple of 32", ("block    128", "block    2048"))

    def test_registers_and_occupancy(self):
        self.refuse("regs=300 is outside 1..255", ("regs=32", "regs=300"))
        self.refuse("maxnreg=64 bounds regs=32", ("regs=32", "regs=32 maxnreg=64"))
        self.refuse("ctas_per_sm=20 is declared, but only 12 fit one SM (warps)", ("regs=32", "regs=32 ctas_per_sm=20"))
        self.refuse("does not fit one SM (regs)", ("block    128", "block    1024"), ("regs=32", "regs=128"))

    def test_variant_words(self):
        self.refuse("'TM=x' is not NAME=integer", ("regs=32", "regs=32 TM=x"))
        self.refuse("'tm' is neither a constant (capitals) nor", ("regs=32", "regs=32 tm=4"))
        self.refuse("variant plain is given twice", ("regs=32\n", "regs=32\n//! variant  plain   smem=0 regs=32\n"))

    def test_at_most_thirteen_variants(self):
        more = "".join(f"//! variant  x{i}   smem=0 regs=32\n" for i in range(13))
        self.refuse("14 variants of fill; a file has at most 13 of a contract", ("regs=32\n", "regs=32\n" + more))

    def test_a_name_has_a_place_of_its_own_in_the_table(self):
        long = "x" * 42
        self.refuse(f"fill__{long} has 48 characters; a name has at most 47", ("variant  plain", f"variant  {long}"))

    def test_deterministic(self):
        self.refuse("deterministic 'maybe': yes or no", ("deterministic yes", "deterministic maybe"))

    def test_order(self):
        self.refuse("order 'Any': none, or lower case, digits, _ and {CONSTANT} of every variant",
                    ("deterministic yes", "deterministic yes\n//! order Any"))
        self.refuse("order 'by_{NOT}': none, or lower case, digits, _ and {CONSTANT} of every variant",
                    ("deterministic yes", "deterministic yes\n//! order by_{NOT}"))

    def test_archs(self):
        self.refuse("archs '80': only 120 90 are built", ("//! block", "//! archs 80\n//! block"))

    def test_two_files_with_one_name(self):
        self.plant("fill/fill.ptx", HEADER)
        self.plant("fill/fill.again.ptx", HEADER)
        with self.assertRaises(HeaderError) as caught:
            parse_tree(self.root)
        self.assertIn("ptx/fill/fill.ptx:9: fill__plain is also declared at ptx/fill/fill.again.ptx:9",
                      str(caught.exception))


if __name__ == "__main__":
    unittest.main()

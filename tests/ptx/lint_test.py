# SPDX-License-Identifier: Apache-2.0
# The lint of the kernel tree and its page, on planted trees: each rule sees its fault, and a clean tree has none.
# Run by CTest as ptx.lint. Needs a C preprocessor.
import contextlib
import io
import os
import unittest

from support import BODY, CC, HEADER, ScratchTree, changed

import lint
import opcodes
import page
import scaffold

ISA = """#define MMA_BF16(d, a, b) mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 d, a, b, d;
#define LD_F32(r, p)      ld.global.nc.f32 r, [p];
#define WAIT(m) { \\
    .reg .pred done; \\
again: \\
    mbarrier.try_wait.parity.shared.b64 done, [m], 0; \\
    @!done bra again; \\
}
"""

OPCODES = ['ld, ld, "[global|param].{" INTS "|f32}"', 'st, st, "global.f32"', 'mov, mov, "u32"', 'ret, control, ""']


class PlantedTree(ScratchTree):
    def setUp(self):
        super().setUp()
        self.plant("lib/isa/all.ptxh", ISA)
        self.plant("fill/fill.ptx", HEADER + BODY)

    def table(self, text, family="fill"):
        path = self.top / "src" / "ops" / family / "table.inc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def opcode_table(self, *rows):
        path = self.top / "emu" / "ir" / "opcodes.inc"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'OP({r}, "operands", "meaning")\n' for r in rows))
        (path.parent / "table.cpp").write_text('#define INTS "u32|u64"\n')


class Lint(PlantedTree):
    def sees(self, *wanted):
        found = lint.lint(self.root, CC)
        self.assertEqual(len(found), len(wanted), found)
        for words in wanted:
            self.assertTrue(any(words in f for f in found), f"{words}\nnot in\n" + "\n".join(found))

    def test_clean(self):
        self.table('ROW(fill__plain, "", "the only one")\n')
        self.opcode_table(*OPCODES, 'mad, muladd, "{lo|hi|wide}.{" INTS "}"')
        self.sees()

    def test_sizes(self):
        self.plant("fill/long.ptx", changed(HEADER, ("fill ", "long ")) + BODY + "// line\n" * 300)
        self.plant("lib/tile/long.ptxh", "// line\n" * 201)
        self.plant("lib/tile/macro.ptxh", "#define TALL \\\n" + "    mov.u32 a, b; \\\n" * 12 + "\n")
        self.sees("ptx/fill/long.ptx:301: 3", "ptx/lib/tile/long.ptxh:201: 201 lines; at most 200",
                  "ptx/lib/tile/macro.ptxh:1: macro TALL has 14 lines; at most 12")

    def test_raw_instruction_with_a_macro(self):
        self.plant("fill/fill.ptx", HEADER + changed(
            BODY, ("    ret;", "    ld.global.nc.f32 v, [to]; // LD_F32\n    ret;")))
        self.sees("ptx/fill/fill.ptx:21: ld.global.nc.f32 has a macro: LD_F32")

    def test_owned_instruction_without_a_macro(self):
        self.plant("lib/tile/warp.ptxh", "#define SUM(r) \\\n"
                   "    @p shfl.sync.bfly.b32 t, r, 1, 31, -1; \\\n    add.f32 r, r, t;\n")
        self.sees("ptx/lib/tile/warp.ptxh:2: shfl.sync.bfly.b32: forms of shfl are written in lib/isa only")

    def test_layers(self):
        self.plant("lib/isa/up.ptxh", '#include "tile/t.ptxh"\n')
        self.plant("lib/tile/t.ptxh", '#include "base.ptxh"\n#define B bar.sync 0;\n.target sm_90\n')
        self.plant("lib/pipe/p.ptxh", '#include "gone.ptxh"\n')
        self.plant("lib/base.ptxh", (self.root / "lib" / "base.ptxh").read_text() + "#define Z(r) mov.u32 r, 0;\n")
        self.sees("ptx/lib/isa/up.ptxh:1: includes tile/t.ptxh, which stands above it",
                  "ptx/lib/tile/t.ptxh:2: bar.sync: lib/tile holds no barriers",
                  "ptx/lib/tile/t.ptxh:3: only lib/base.ptxh says .target",
                  "ptx/lib/pipe/p.ptxh:1: includes gone.ptxh, which does not exist",
                  "ptx/lib/base.ptxh:5: mov.u32: lib/base.ptxh holds no instructions")

    def test_forbidden(self):
        self.plant("fill/fill.ptx", HEADER + changed(BODY, ("    ret;", "    ex2.approx.f32 v, v;\n    ret;")))
        self.sees("ptx/fill/fill.ptx:21: ex2.approx.f32 without .ftz")

    def test_orphan_and_stray_row(self):
        self.table('// ROW(comment, "", "")\nROW(fill__gone, "", "")\n')
        self.sees("ptx/fill/fill.ptx:9: fill__plain is in no src/ops/*/table.inc",
                  "src/ops/fill/table.inc:2: no kernel is called fill__gone")

    def test_rows_written_once_for_all_types(self):
        self.table('#define ROWS_OF(T) \\\n    ROW(fill##T##__plain, "", "") \\\n    ROW(fill##T##__gone, "", "")\n'
                   '\nROWS_OF()\n')
        self.sees("src/ops/fill/table.inc:5: no kernel is called fill__gone")

    def test_rows_in_an_operators_own_file(self):
        self.table('ROW(fill__plain, "", "")\n')
        (self.top / "src" / "ops" / "fill" / "other.cpp").write_text(
            '#include "spark_kernels.h"\nconstexpr Draft DRAFTS[] = {\n    ROW(other__gone, "")\n};\n')
        self.sees("src/ops/fill/other.cpp:3: no kernel is called other__gone")

    def test_opcode_the_emulator_lacks(self):
        self.opcode_table(*OPCODES)
        self.sees("ptx/fill/fill.ptx:19: mad.wide.u32: the emulator's table (emu/ir/opcodes.inc) has no 'mad'")
        self.opcode_table(*OPCODES, 'mad, muladd, "{lo|hi}.{" INTS "}"', 'mad, muladd, "wide.s32"')
        self.sees("mad.wide.u32: the emulator's table (emu/ir/opcodes.inc) has no form of 'mad' with these modifiers")

    def test_built_kernels_are_read_where_they_are_new(self):
        self.opcode_table(*OPCODES, 'mad, muladd, "wide.u32"')
        built = self.top / "fill__plain.120.ptx"
        built.write_text('.version 9.0\n# 7 "ptx/fill/fill.ptx"\nbrkpt;\n')
        wanted = "ptx/fill/fill.ptx:7: brkpt: the emulator's table (emu/ir/opcodes.inc) has no 'brkpt'"
        self.assertEqual(lint.lint(self.root, CC, self.top), [wanted])
        os.utime(built, (0, 0))
        self.assertEqual(lint.lint(self.root, CC, self.top), [], "older than the kernel")

    def test_grammar_of_the_opcode_table(self):
        self.opcode_table('max, minmax, "[ftz].[NaN].[xorsign.abs|abs].f32"', 'exit, control, ""')
        table = opcodes.emulator_table(self.root)
        for good in ("max.f32", "max.ftz.f32", "max.NaN.xorsign.abs.f32", "max.abs.f32", "exit"):
            self.assertEqual(opcodes.unknown(good, table), "", good)
        for bad in ("max", "max.NaN.ftz.f32", "max.f32.ftz", "max.f64", "exit.now", "min.f32"):
            self.assertNotEqual(opcodes.unknown(bad, table), "", bad)

    def test_header_findings_come_through(self):
        self.plant("fill/fill.ptx", changed(HEADER, ("regs=32", "")) + BODY)
        self.sees("ptx/fill/fill.ptx:9: variant plain: regs= is missing")

    def test_instructions_of_a_line(self):
        line = "again: @!p bra again; { .reg .u32 a; } mov.u32 a, b; MACRO(x) // add.u32"
        self.assertEqual(opcodes.instructions(line), ["bra", "mov.u32"])
        self.assertEqual(opcodes.instructions("mov.b64 {low, high}, x; @p ld.global.v2.f32 {x0, x1}, [p];"),
                         ["mov.b64", "ld.global.v2.f32"])

    def test_similar(self):
        self.plant("fill/twin.ptx", changed(HEADER, ("fill ", "twin ")) + BODY)
        self.assertIn("of its lines are also in ptx/fill/twin.ptx", lint.similar_pairs(self.root)[0])


class Page(PlantedTree):
    def test_page(self):
        self.table('ROW(fill__plain, "", "")\nROW(fill__plain, "", "")\n')
        self.assertIn("ptx/KERNELS.md:1: out of date", page.difference(self.root, None, CC))
        with contextlib.redirect_stdout(io.StringIO()):
            page.run(self.root, None, False, CC)
        self.assertEqual(page.difference(self.root, None, CC), "")
        text = (self.root / "KERNELS.md").read_text()
        self.assertIn("| `fill__plain` | fill/fill.ptx | y[i] = value | 128 | 0 | 32 / ? | 12 (warps) | y_align>=4 "
                      "| fill 1, fill 2 |", text)
        (self.root / "KERNELS.md").write_text(text.replace("| 128 |", "| 256 |"))
        self.assertIn("out of date", page.difference(self.root, None, CC))

    def test_another_assembler_may_use_other_registers(self):
        with contextlib.redirect_stdout(io.StringIO()):
            page.run(self.root, None, False, CC)
        path = self.root / "KERNELS.md"
        path.write_text(changed(path.read_text(), ("(not assembled)", "13.1.2"), ("32 / ?", "32 / 9")))
        self.assertEqual(page.difference(self.root, None, CC), "")

    def test_new(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            self.assertEqual(scaffold.run(self.root, "norm_f32", None), 2)
            self.assertEqual(scaffold.run(self.root, "norm_Fast", "norm"), 1)
            self.assertEqual(scaffold.run(self.root, "norm_f32", "norm"), 0)
            self.assertEqual(scaffold.run(self.root, "norm/norm_f32", None), 1)
            self.assertEqual(scaffold.run(self.root, "norm_f16", None), 0)
        self.assertIn("Say --family NAME; there are: fill", said.getvalue())
        self.assertEqual(lint.lint(self.root, CC), [])


if __name__ == "__main__":
    unittest.main()

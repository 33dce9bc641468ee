# SPDX-License-Identifier: Apache-2.0
# The macro language of kernel files: what each construct makes, and what is refused, with file and line.
# Run by CTest as ptx.language. Needs nothing.
import re
import unittest

from support import BODY, HEADER, PTXAS, ScratchTree, changed

import expand
from assemble import AssembleError, assemble, find_variant
from expression import evaluate
from macro import MOST_DEPTH, MOST_TURNS, Expander, squeezed
from source import Fault


def lines(text, parts=(), **constants):
    """[(place, text)] of a file k.ptx that may include parts, {name: text}."""
    expander = Expander(lambda name, _: (name, dict(parts)[name]) if name in dict(parts) else None, constants)
    expander.run("k.ptx", text)
    return [(str(place), squeezed(found)) for place, found in expander.lines]


def made(text, parts=(), **constants):
    return " | ".join(words for _, words in lines(text, parts, **constants) if words)


class Language(unittest.TestCase):
    def gives(self, text, wanted, parts=(), **constants):
        self.assertEqual(made(text, parts, **constants), wanted)

    def refuses(self, text, *sentences, parts=(), **constants):
        with self.assertRaises(Fault) as caught:
            lines(text, parts, **constants)
        for sentence in sentences:
            self.assertIn(sentence, str(caught.exception))


class Macros(Language):
    def test_define(self):
        self.gives("#define ZERO(r) mov.u32 r, 0;\nZERO(a)\nZERO( b )", "mov.u32 a, 0; | mov.u32 b, 0;")
        self.gives("#define TWICE(r) { \\\n    ONE(r) \\\n    ONE(r) }\n#define ONE(r) f r;\nTWICE(x)", "{ f x; f x; }")
        self.gives("#define HALF (D/2)\nHALF D", "(8/2) 8", D=8)

    def test_a_macro_of_lines(self):
        self.gives("#macro PAIR(a, b)\n    add a, b;\n    sub b, a;\n#endmacro\nPAIR(x, [y+4])",
                   "add x, [y+4]; sub [y+4], x;")

    def test_pasting(self):
        self.gives("#define SUM(x, i) add x##i##_0, x##_hop;\nSUM(q, 3)", "add q3_0, q_hop;")
        self.gives("#define CAT(a, b) PASTED(a, b)\n#define PASTED(a, b) a##b\n#define F_bf16 yes\nCAT(F_, T)", "yes",
                   T="bf16")
        self.gives("#define NEXT(x, i) x##$(i+1)\nNEXT(r, 2)", "r3")

    def test_further_arguments(self):
        parts = "#define F(i, ...) i(__VA_ARGS__);\n#define G(...) F(0, ##__VA_ARGS__)\n"
        self.gives(f"{parts}G(a, b) G()", "0(a,b); 0();")

    def test_a_name_without_arguments_stays(self):
        self.gives("#define F(x) x\nF ; F(1)", "F ; 1")

    def test_arguments_over_several_lines(self):
        self.assertEqual(lines("#define F(x, y) x y\nF(1,\n  2)\nend"), [("k.ptx:2", "1 2"), ("k.ptx:4", "end")])

    def test_refused(self):
        self.refuses("#define lower 1", "k.ptx:1: #define needs a name that begins with a capital")
        self.refuses("#define F 1\n\n#define F 2", "k.ptx:3: F is defined already, at k.ptx:1")
        self.refuses("#define F(x) x\nF(1, 2)", "k.ptx:2: F takes 1 arguments, here are 2")
        self.refuses("#define F(x) x\nF(1", "k.ptx:2: a parenthesis is not closed")
        self.refuses("#macro F(x)\nx", "k.ptx:1: #endmacro is missing")
        self.refuses("#macro F(x)\n#define G\n#endmacro", "k.ptx:2: #define stands in a macro or a loop")
        self.refuses("a\n#endmacro", "k.ptx:2: #endmacro closes nothing")
        self.refuses("#pragma once", "k.ptx:1: there is no directive #pragma")
        self.refuses("#define F(x) x ##\nF(1)", "k.ptx:1: ## stands between two pieces")
        self.refuses("#define F $(1\nF", "k.ptx:1: ")

    def test_macros_that_use_each_other_without_end(self):
        self.refuses("#define A B\n#define B A\nx A", f"more than {MOST_DEPTH} deep: .. > ", "from k.ptx:3)")


class Loops(Language):
    def test_in_a_kernel(self):
        self.assertEqual(lines("#for i in 0 .. N\nmov r##i, i;\n#endfor", N=2),
                         [("k.ptx:2", "mov r0, 0;"), ("k.ptx:2", "mov r1, 1;")])

    def test_nested_with_bounds_of_the_outer_one(self):
        self.gives("#for i in 0 .. 3\n#for j in i .. 3\nx##i##y##j\n#endfor\n#endfor",
                   "x0y0 | x0y1 | x0y2 | x1y1 | x1y2 | x2y2")

    def test_in_a_macro_with_bounds_that_are_arguments(self):
        each = "#macro EACH(n, F, ...)\n#for i in 0 .. n\nF(i, ##__VA_ARGS__)\n#endfor\n#endmacro\n"
        self.gives(f"{each}#define G(i, x) x##i;\nEACH(N+1, G, r)", "r0; r1; r2;", N=2)
        self.gives(f"{each}#define OUTER(i) EACH(2, INNER, i)\n#define INNER(j, i) i.j\nEACH(2, OUTER)",
                   "0.0 0.1 1.0 1.1")

    def test_no_turns(self):
        self.gives("a\n#for i in 0 .. 0\nb\n#endfor\n#for i in 3 .. 1\nc\n#endfor\nd", "a | d")

    def test_refused(self):
        self.refuses(f"\n#for i in 0 .. {MOST_TURNS}+1\nx\n#endfor",
                     f"k.ptx:2: #for i has {MOST_TURNS + 1} turns, at most ")
        self.refuses(f"#for i in 0 .. {MOST_TURNS}\n#for j in 0 .. {MOST_TURNS}\nx\n#endfor\n#endfor",
                     "k.ptx:2: #for j has ", " in a kernel")
        self.refuses("#for i in 0 .. N\nx\n#endfor", "k.ptx:1: 'N' is no constant of this variant")
        self.refuses("#for i in 0 .. 2\nx", "k.ptx:1: #endfor is missing")
        self.refuses("#for i in 0 .. 2\n#if 1\n#endfor",
                     "k.ptx:3: #endfor stands where #endif or #elif or #else is due")
        self.refuses("#for I in 0 .. 2\n#endfor", "k.ptx:1: write #for name in first .. end")
        self.refuses("#for i in 0 .. 2\n#for i in 0 .. 2\n#endfor\n#endfor",
                     "k.ptx:2: 'i' is a parameter or loop variable")
        self.refuses("#for i in 0 ..\n#endfor", "k.ptx:1: ")


class Conditions(Language):
    LADDER = "#if D == 64\na\n#elif D > 64 && D % 16 == 0\nb\n#else\nc\n#endif"

    def test_branches(self):
        for width, wanted in ((64, "a"), (80, "b"), (60, "c"), (72, "c")):
            self.gives(self.LADDER, wanted, D=width)

    def test_defined(self):
        self.gives("#ifdef X\na\n#else\nb\n#endif\n#ifndef X\nc\n#endif", "b | c")
        self.gives("#if defined(X) && X > 1 || defined(Y)\na\n#endif\nz", "z")
        self.gives("#if defined(X) && X > 1\na\n#endif\nz", "a | z", X=2)

    def test_in_macros_and_loops(self):
        self.gives("#macro F(n)\n#for i in 0 .. n\n#if i % 2\nodd##i\n#else\neven##i\n#endif\n#endfor\n#endmacro\nF(3)",
                   "even0 odd1 even2")

    def test_definitions_in_branches(self):
        self.gives("#if W == 4\n#define A 1\n#else\n#define A 2\n#endif\nA", "2", W=8)

    def test_errors(self):
        self.refuses("#if D % 16\n#error D is no multiple of 16\n#endif", "k.ptx:2: D is no multiple of 16", D=40)
        self.gives("#if D % 16\n#error D is no multiple of 16\n#endif\nx", "x", D=48)

    def test_refused(self):
        self.refuses("x\n#if GONE == 1\n#endif", "k.ptx:2: 'GONE' is no constant of this variant")
        self.refuses("#if 1 +\n#endif", "k.ptx:1: '1 +' is not an expression")
        self.refuses("#if\n#endif", "k.ptx:1: an expression is missing")
        self.refuses("#if 1\nx", "k.ptx:1: #endif or #elif or #else is missing")
        self.refuses("#if 0\n#else\n#else\n#endif", "k.ptx:3: #else stands where #endif is due")


class Expressions(Language):
    def test_values(self):
        for text, value in (("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("-7 / 2", -3), ("-7 % 4", -3), ("1 << 4 | 1", 17),
                            ("96 / 8 & -(96 / 8)", 4), ("min(3, max(1, 2))", 2), ("log2(64)", 6), ("0x10 ^ 1", 17),
                            ("1 < 2 == 1", 1), ("!0 + !5", 1), ("~0", -1), ("2 > 1 ? 5 : GONE", 5), ("0 && GONE", 0),
                            ("1 || 1 / 0", 1), ("ceil_power2(20)", 32), ("ceil_power2(32)", 32)):
            self.assertEqual(evaluate(text, {}), value, text)

    def test_refused(self):
        for text, words in (("1 / 0", "division by zero"), ("log2(12)", "a power of two is needed"), ("1 2", "no"),
                            ("2.5", "only integers"), ("f(1)", "only integers"), ("1 << 64", "a shift by 64"),
                            ("X", "'X' is no constant"), ("(1", "not an expression"), ("", "not an expression"),
                            (" * ".join(["0x7fffffff"] * 3), "is beyond 64 bits")):
            with self.assertRaises(ValueError, msg=text) as caught:
                evaluate(text, {})
            self.assertIn(words, str(caught.exception))

    def test_in_text(self):
        self.gives("mov a, $(N*2+1);", "mov a, 7;", N=3)
        self.gives("#define HOP $(BLOCK/CHUNKS)\n#define CHUNKS $(min(D/8 & -(D/8), 16))\nHOP", "32", BLOCK=128, D=96)
        self.refuses("x\nmov a, $(N/0);", "k.ptx:2: division by zero", N=3)


class Places(Language):
    PARTS = {"p.ptxh": "#macro OUTER(x)\n    ok x;\n    INNER(x)\n#endmacro\n#macro INNER(x)\n#for i in 0 .. 2\n"
                       "    mov x, $(GONE+i);\n#endfor\n#endmacro\n"}

    def test_a_fault_in_a_macro_of_a_part(self):
        self.refuses('#include "p.ptxh"\n\nOUTER(a)', "p.ptxh:7: 'GONE' is no constant of this variant (in INNER, from "
                     "k.ptx:3)", parts=self.PARTS)

    def test_a_wrong_call_in_a_macro_of_a_part(self):
        self.refuses('#include "p.ptxh"\nF(a)', "p.ptxh:3: G takes 1 arguments, here are 2", "from k.ptx:2",
                     parts={"p.ptxh": "#define G(x) x\n#define F(x) { \\\n    G(x, x) }\n"})

    def test_lines_of_the_kernel(self):
        self.assertEqual(lines('#include "p.ptxh"\n// why\nOUTER(a)\nret;', self.PARTS, GONE=4),
                         [("k.ptx:3", "ok a; mov a, 4; mov a, 5;"), ("k.ptx:4", "ret;")])

    def test_parts_that_include_each_other(self):
        self.refuses('#include "p.ptxh"', "p.ptxh:1: parts include each other more than",
                     parts={"p.ptxh": '#include "p.ptxh"'})

    def test_a_missing_part(self):
        self.refuses('x\n#include "gone.ptxh"', "k.ptx:2: gone.ptxh does not exist")


class Capture(Language):
    ADD = "#define ADD(v, w) { \\\n    .reg .u32 other, x_<2>; \\\n    add.u32 v, v, w; }\n"

    def refuses_capture(self, text, name, macro, kind="register"):
        self.refuses(text, f"{name} is given to {macro}, which has a {kind} of that name")

    def test_a_register(self):
        self.gives(f"{self.ADD}ADD(a, x_2)", "{ .reg .u32 other, x_<2>; add.u32 a, a, x_2; }")
        self.refuses_capture(f"{self.ADD}\nADD(a, other)", "other", "ADD")
        self.refuses_capture(f"{self.ADD}\nADD(a, x_1)", "x_1", "ADD")
        self.refuses_capture(f"{self.ADD}\nADD([other+4], 1)", "other", "ADD")

    def test_through_another_macro(self):
        self.refuses(f"{self.ADD}#define MORE(v) ADD(v, 1)\n\nMORE(other)",
                     "k.ptx:4: other is given to ADD, which has a register of that name", "(in ADD, from k.ptx:6)")

    def test_a_register_of_a_macro_given_to_one_that_has_it_too(self):
        self.refuses_capture(f"{self.ADD}#define MORE(v) {{ .reg .u32 other; ADD(v, other) }}\nMORE(a)", "other", "ADD")

    def test_only_where_it_is_seen(self):
        self.gives("#define F(v) { .reg .u32 a; } mov v, 0;\nF(a)", "{ .reg .u32 a; } mov a, 0;")
        self.gives("#define F(v) mov v, 0; { .reg .u32 a; }\nF(a)", "mov a, 0; { .reg .u32 a; }")

    def test_pasted_names(self):
        text = "#define F(v) { .reg .u32 k_hop; mov k_hop, v##_hop; }\n"
        self.gives(f"{text}F(q)", "{ .reg .u32 k_hop; mov k_hop, q_hop; }")
        self.refuses_capture(f"{text}F(k)", "k_hop", "F")

    def test_labels(self):
        text = "#define F(p, to) { \\\n    @p bra to; \\\n    nop; \\\ndone: }\n"
        self.gives(f"{text}F(q, out)", "{ @q bra out; nop; done: }")
        self.refuses_capture(f"{text}F(q, done)", "done", "F", "label")


class Expanded(ScratchTree):
    def test_a_fault_in_a_part(self):
        self.plant("lib/put.ptxh", "#macro PUT(to)\n    st.global.u32 [to], $(GONE);\n#endmacro\n")
        self.plant("fill/fill.ptx", HEADER + changed(BODY, ('"base.ptxh"', '"base.ptxh"\n#include "put.ptxh"'),
                                                     ("    st.global.f32 [to], v;", "    PUT(to)")))
        with self.assertRaises(expand.ExpandError) as caught:
            expand.expand(find_variant("fill__plain", self.root), 120, self.root)
        self.assertEqual(str(caught.exception), "ptx/lib/put.ptxh:2: 'GONE' is no constant of this variant "
                         "(in PUT, from ptx/fill/fill.ptx:21)")


@unittest.skipUnless(PTXAS, "SPARK_PTXAS is not set")
class Assembled(ScratchTree):
    """What the assembler finds is said with the line of the part, and of the kernel that used it."""
    PART = "#macro PUT(to, v)\n    .reg .u32 zero;\n#for i in 0 .. 2\n" \
           "    st.global.f99 [to+4*i], v;\n#endfor\n#endmacro\n"

    def refuse(self):
        body = changed(BODY, ("    st.global.f32 [to], v;", "    PUT(to, v)"),
                       ('"base.ptxh"', '"base.ptxh"\n#include "put.ptxh"'))
        self.plant("fill/fill.ptx", HEADER + body)
        with self.assertRaises(AssembleError) as caught:
            assemble(find_variant("fill__plain", self.root), self.root, self.top / "out", PTXAS)
        return str(caught.exception)

    def test_in_a_loop_of_a_part(self):
        self.plant("lib/put.ptxh", self.PART)
        self.assertRegex(self.refuse(), r"(?m)^ptx/lib/put\.ptxh:4: error: .*f99.* \(from ptx/fill/fill\.ptx:21\)$")

    def test_fine_markers(self):
        self.plant("lib/put.ptxh", self.PART)
        self.refuse()
        text, read = expand.expand(find_variant("fill__plain", self.root), 120, self.root, fine=True)
        self.assertTrue(re.search(r'# 4 "ptx/lib/put.ptxh"\nst\.global\.f99 \[to\+4\*1\], v;\n', text), text)
        self.assertEqual([p.name for p in read], ["fill.ptx", "base.ptxh", "put.ptxh"])


if __name__ == "__main__":
    unittest.main()

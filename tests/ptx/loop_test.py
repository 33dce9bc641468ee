# SPDX-License-Identifier: Apache-2.0
# What tools/ptxc says of inner loops, on code that is put together here, an instruction a line; and that it finds one
# in each kernel of the build that has products of tensor cores. Run by CTest as ptx.loop.
import os
import struct
import unittest
from pathlib import Path

from support import TOP

from cubin import Cubin
from header import parse_tree
from inner_loop import MMA, summary, target, words

RESULTS = os.environ.get("SPARK_KERNEL_RESULTS")
HMMA, LDSM, COPY, MOV, BRA, BRA_U, EXIT = 0x23c, 0x83b, 0xfae, 0x202, 0x947, 0x547, 0x94d
ALWAYS, P0 = 7, 0


def one(opcode, to=255, a=255, b=255, guard=ALWAYS, detour=False):
    return opcode | guard << 12 | to << 16 | a << 24 | b << 32, (1 << 27) * detour


def jump(at, to, opcode=BRA, guard=ALWAYS, detour=False):
    """A branch from instruction `at`, as the machine has it: words of four bytes from the next one on."""
    distance = (to - at - 1) * 4
    word, more = one(opcode, to=distance & 0xff, a=0, guard=guard, detour=detour)
    raw = (distance >> 8 << 2) % (1 << 50)
    return (word & 0xffffffff) | (raw & 0xffffffff) << 32, more | raw >> 32


def code(*instructions):
    return b"".join(struct.pack("<QQ", *both) for both in instructions)


class Loops(unittest.TestCase):
    def test_branches_go_where_they_say(self):
        for at, to in ((0, 1), (5, 2), (9, 900), (900, 3), (70000, 1), (1, 70000)):
            self.assertEqual(target(at, *jump(at, to)), to)

    def test_without_a_loop(self):
        self.assertIsNone(summary(code(one(LDSM, to=4), one(HMMA, a=4), one(EXIT))))
        self.assertIsNone(summary(code(one(MOV), jump(1, 0, guard=P0), one(EXIT))))

    def test_kinds_and_how_far_ahead(self):
        body = [one(LDSM, to=8), one(HMMA, to=40, a=4, b=20), one(HMMA, to=44, a=4, b=22), one(COPY),
                one(HMMA, to=48, a=8, b=20)]
        found = summary(code(one(LDSM, to=4), *body, jump(6, 1, guard=P0), one(EXIT)))
        self.assertEqual(found, {"all": 6, "ahead": 2, "mma": 3, "ldmatrix": 1, "copies": 1})

    def test_fragments_of_the_next_turn(self):
        body = [one(HMMA, a=8, b=20), one(HMMA, a=9, b=21), one(LDSM, to=8)]
        self.assertEqual(summary(code(*body, jump(3, 0, guard=P0), one(EXIT)))["ahead"], 0)
        body = [one(HMMA, a=30, b=20), one(HMMA, a=8, b=21), one(LDSM, to=8)]
        self.assertEqual(summary(code(*body, jump(3, 0, guard=P0), one(EXIT)))["ahead"], 1)

    def test_the_inner_of_two(self):
        inner = [one(HMMA, a=4), jump(2, 1, BRA_U)]  # whose predicate is a uniform one
        self.assertEqual(summary(code(one(MOV), *inner, one(HMMA, a=4), jump(4, 0, guard=P0), one(EXIT)))["all"], 2)

    def test_detours_are_no_part(self):
        loop = [one(HMMA, a=4), jump(1, 4, detour=True), jump(2, 0, guard=P0), one(EXIT)]
        self.assertEqual(summary(code(*loop, one(MOV), jump(5, 2)))["all"], 3)

    @unittest.skipUnless(RESULTS, "SPARK_KERNEL_RESULTS is not set")
    def test_each_kernel_with_products_has_one(self):
        seen = 0
        for variant in (v for f in parse_tree(TOP / "ptx") for v in f.variants):
            path = Path(RESULTS) / f"{variant.name}.120.cubin"
            if not path.is_file():
                continue
            machine = Cubin(path.read_bytes()).sections[f".text.{variant.name}"]
            if any(word & 0xfff in MMA for word, _ in words(machine)):
                seen += 1
                self.assertIsNotNone(summary(machine), variant.name)
        self.assertGreater(seen, 100)


if __name__ == "__main__":
    unittest.main()

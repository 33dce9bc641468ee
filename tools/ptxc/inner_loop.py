# SPDX-License-Identifier: Apache-2.0
# What the machine runs again and again: of a kernel's code the innermost loop with the most products of tensor cores,
# by kinds of instructions, and how early its fragments are loaded. Read from cubins of 9.0 and 12.x, whose instructions
# have 16 bytes: the lower twelve bits say which, bits 16 to 23 the register that is written, 24 to 31, 32 to 39 and 64
# to 71 those that are read. Used by page.py and `list`. Knows nothing of headers or builds.
"""Summaries of inner loops."""

import struct

from cubin import INSTRUCTION

# halves; integers; codes of 8 bits, and with scales of blocks; codes of 4
MMA = {0x23c: "HMMA", 0x237: "IMMA", 0x27a: "QMMA", 0x47a: "QMMA.SF", 0x47f: "OMMA"}
LDMATRIX, BRANCH, EXIT, ZERO = 0x83b, (0x947, 0x547), (0x94d, 0x14d), 255
KINDS = (("mma", set(MMA)), ("ldmatrix", {LDMATRIX}), ("shared loads", {0x984}),
         ("shared stores", {0x388, 0x988, 0x844}), ("copies", {0xfae, 0x5b4, 0x5ba}), ("global loads", {0x981}),
         ("global stores", {0x986}), ("special functions", {0x308, 0x908, 0xd08}),
         ("shuffles", {0x389, 0x589, 0x989, 0xf89}), ("waits", {0x31d, 0x51d, 0xb1d, 0x91a, 0x5a7, 0x9a7}))


def words(code):
    return list(struct.iter_unpack("<QQ", code))


def target(at, word, more):
    """Where a branch goes, as the number of an instruction; at: its own."""
    raw = word >> 32 | (more & 0x3ffff) << 32
    raw -= (raw >> 49 & 1) << 50
    return at + 1 + ((raw >> 2 << 10) + ((word >> 16 & 0xff) << 2)) // INSTRUCTION


def is_detour(word, more):
    """BRA.DIV: lanes that are not together go another way, and come back."""
    return word & 0xfff == 0x947 and more >> 27 & 1 == 1


def blocks_of(code):
    """[(first, behind, successors)]; a block is told by its number."""
    jumps = {at: target(at, *both) for at, both in enumerate(code)
             if both[0] & 0xfff in BRANCH and not is_detour(*both)}
    ends = set(jumps) | {at for at, both in enumerate(code) if both[0] & 0xfff in EXIT}
    firsts = sorted({0} | {to for to in jumps.values() if 0 <= to < len(code)} |
                    {at + 1 for at in ends if at + 1 < len(code)})
    number = {first: i for i, first in enumerate(firsts)}
    blocks = []
    for first, behind in zip(firsts, [*firsts[1:], len(code)]):
        last = behind - 1
        always = code[last][0] >> 12 & 0xf == 7 and code[last][0] & 0xfff != 0x547  # whose predicate stands elsewhere
        following = [number[behind]] if behind in number and (last not in ends or not always) else []
        blocks.append((first, behind, following + ([number[jumps[last]]] if jumps.get(last) in number else [])))
    return blocks


def dominators(blocks):
    """Of each block that is reached those that every way to it comes through; and the blocks before it."""
    reached, left = set(), [0]
    while left:
        block = left.pop()
        if block not in reached:
            reached.add(block)
            left += blocks[block][2]
    before = {i: [j for j in reached if i in blocks[j][2]] for i in reached}
    found, changed = {i: reached for i in reached} | {0: {0}}, True
    while changed:
        changed = False
        for i in sorted(reached - {0}):
            new = {i} | set.intersection(*(found[j] for j in before[i]))
            changed, found[i] = changed or new != found[i], new
    return found, before


def loops(code):
    """Sets of blocks, each a loop: a way back to a block that every way into it comes through."""
    blocks = blocks_of(code)
    dominated, before = dominators(blocks)
    for end in dominated:
        for head in blocks[end][2]:
            if head not in dominated[end]:
                continue
            body, left = {head}, [end]
            while left:
                block = left.pop()
                if block not in body:
                    body.add(block)
                    left += before[block]
            yield [at for block in sorted(body) for at in range(*blocks[block][:2])]


def ahead(loop, code):
    """The fewest products that are issued between the load of a fragment and the first that takes it, around the loop;
    None where none takes what ldmatrix has loaded as it is."""
    order, least = [code[at] for at in loop], None
    for i, (word, more) in enumerate(order):
        if word & 0xfff != LDMATRIX:
            continue
        loaded, between = word >> 16 & 0xff, 0
        for later, extra in order[i + 1:] + order[:i]:
            if later & 0xfff not in MMA:
                continue
            if any(loaded <= place < loaded + 4 for place in (later >> 24 & 0xff, later >> 32 & 0xff) if place != ZERO):
                least = between if least is None else min(least, between)
                break
            between += 1
    return least


def summary(code):
    """{kind: number} of the innermost loop with the most products, `all` of its instructions, and `ahead`; or None."""
    code = words(code)
    count = lambda loop, kind: sum(code[at][0] & 0xfff in kind for at in loop)  # noqa: E731
    with_products = [loop for loop in loops(code) if count(loop, MMA)]
    inner = [a for a in with_products if not any(set(b) < set(a) for b in with_products)]
    if not inner:
        return None
    best = max(inner, key=lambda loop: (count(loop, MMA), -len(loop)))
    kinds = {name: count(best, kind) for name, kind in KINDS}
    return {"all": len(best), "ahead": ahead(best, code)} | {name: n for name, n in kinds.items() if n}

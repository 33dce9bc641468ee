#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies boxes of tensors to shared memory and back, and says by itself which bytes must lie where.

    tensors.py [--keep FOLDER] [--cases N] [arguments of run.py]

Draws tensors of every rank and type, boxes inside and across their edges, steps, swizzles, shared addresses at every
multiple of 128, reductions; the same ones each time. Places follow the tables of the programming guide: rows of 128
bytes with columns of 16, whose numbers are exclusive-ored with that of the row, counted from where the pattern begins.
With --driver gpu the same kernels run on a card.
"""
import argparse
import itertools
import pathlib
import random
import struct
import sys
import tempfile

import run

HEAD = """// SPDX-License-Identifier: Apache-2.0
//! block 64
{lines}
.version 8.6
.target sm_90
.address_size 64

.visible .entry k({params}) {{
    .shared .align 1024 .b8 s[{shared}];
    .shared .align 8 .b64 bar;
    .reg .b32 t, n, at, to, v, c<5>;
    .reg .b64 x, from, out;
    .reg .pred p, first;
    mov.u32 t, %tid.x;
    setp.eq.u32 first, t, 0;
    mov.b64 x, m;
    cvta.param.u64 x, x;
    mov.u32 to, s;
    add.u32 to, to, {place};
{corner}"""
# Each thread has every 64th word.
LOOP = """    mov.u32 n, t;
{name}:
    setp.ge.u32 p, n, {words};
    @p bra {name}_done;
    shl.b32 at, n, 2;
    cvt.u64.u32 out, at;
{body}    add.u32 n, n, 64;
    bra {name};
{name}_done:
"""
LOAD = """    mov.u32 v, 0xcccccccc;
{clear}    @first mbarrier.init.shared::cta.b64 [bar], 1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @first mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {bytes};
    @first cp.async.bulk.tensor.{rank}d.shared::{space}.global.tile.mbarrier::complete_tx::bytes
        [to], [x, {{{coordinates}}}], [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;
    @!p bra wait;
{read}    ret;
}}
"""
STORE = """{fill}    fence.proxy.async.shared::cta;
    bar.sync 0;
    @first {instruction} [x, {{{coordinates}}}], [to];
    @first cp.async.bulk.commit_group;
    @first cp.async.bulk.wait_group 0;
    ret;
}}
"""

SIZES = {"u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f64": 8, "bf16": 2}
SPANS = {0: 256, 32: 32, 64: 64, 128: 128}
HIDDEN = 0xCC
NAN = b"\xf7\x7f"  # what fills, each two bytes of it


class Bf16:
    """As struct.Struct, for the upper half of an f32."""

    def pack(self, value):
        return struct.pack("<f", value)[2:]

    def unpack(self, data):
        return struct.unpack("<f", b"\0\0" + data)


CODES = {"u8": "B", "u16": "H", "u32": "I", "s32": "i", "u64": "Q", "s64": "q", "f16": "e", "f32": "f", "f64": "d"}
PACK = {"bf16": Bf16(), **{name: struct.Struct("<" + code) for name, code in CODES.items()}}


def wrapped(value, kind):
    bits = 8 * SIZES[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> bits - 1 else value


REDUCTIONS = {
    "add": (("u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64"), lambda old, new: old + new),
    "min": (("u32", "s32", "u64", "s64", "f16", "bf16"), min),
    "max": (("u32", "s32", "u64", "s64", "f16", "bf16"), max),
    "and": (("u32", "s32", "u64", "s64"), lambda old, new: old & new),
    "or": (("u32", "s32", "u64", "s64"), lambda old, new: old | new),
    "xor": (("u32", "s32", "u64", "s64"), lambda old, new: old ^ new),
    "inc": (("u32",), lambda old, new: 0 if old >= new else old + 1),
    "dec": (("u32",), lambda old, new: new if old == 0 or old > new else old - 1),
}


class Case:
    """A tensor in `memory`, and a box of it at `place` in shared memory."""

    def __init__(self, draw, reduction):
        self.reduction = reduction
        self.kind = draw.choice(REDUCTIONS[reduction][0] if reduction else list(SIZES))
        self.size = SIZES[self.kind]
        self.rank = draw.randint(1, 5)
        self.swizzle = draw.choice(list(SPANS))
        self.fill = self.kind[-2:] in ("16", "32", "64") and "f" in self.kind and draw.random() < 0.5
        rows = draw.randrange(16, SPANS[self.swizzle] + 1, 16)
        self.box = [min(rows // self.size, 256)]
        for _ in range(1, self.rank):
            self.box.append(draw.choice([1, 2, 3, 5, 8]) if self.rank > 3 else draw.choice([1, 4, 9, 16]))
        self.step = [1] + [draw.choice([1, 1, 1, 2, 3]) for _ in self.box[1:]]
        self.copied = [-(-b // s) for b, s in zip(self.box, self.step)]
        self.dim = [draw.randint(1, 2 * self.box[0])] + [draw.randint(1, b + 3) for b in self.box[1:]]
        self.corner = [draw.choice([0, 0, draw.randint(1 - b, d - 1)]) for b, d in zip(self.box, self.dim)]
        if not reduction:  # loads begin at multiples of 16 bytes
            unit = 16 // self.size
            self.corner[0] = self.corner[0] // unit * unit
        self.stride, pitch = [], self.dim[0] * self.size
        for d in self.dim[1:]:
            pitch = -(-pitch // 16) * 16 + draw.choice([0, 16, 48])
            self.stride.append(pitch)
            pitch *= d
        self.offset = 16 * draw.randrange(3)
        self.bytes = self.size
        for n in self.copied:
            self.bytes *= n
        self.place = 128 * draw.randrange(9)
        self.shared = self.place + -(-self.bytes // 128) * 128
        self.extent = self.offset + -(-pitch // 16) * 16
        self.space = draw.choice(["cta", "cluster"])
        if self.small():
            self.memory = self.values(draw, self.extent)
            self.tile = self.values(draw, self.shared)

    def small(self):
        return self.shared <= 8192 and self.extent <= 8192

    def values(self, draw, size):
        """Small numbers, whose sums are exact in every type."""
        low = 0 if self.kind[0] == "u" else -30
        items = (self.pack(draw.randint(low, 30)) for _ in range(size // self.size))
        return bytearray(b"".join(items))

    def pack(self, value):
        return PACK[self.kind].pack(value)

    def placed(self, linear):
        """Where in shared memory byte `linear` of the box lies."""
        row, column = divmod(linear // 16, 8)
        rows = {0: 1, 32: 2, 64: 4, 128: 8}[self.swizzle]
        begins = self.place // 128 % rows
        return self.place + row * 128 + (column ^ (row + begins) % rows) * 16 + linear % 16

    def elements(self):
        """(where in shared memory, where in global memory or None) of each element of the box."""
        ranges = [range(n) for n in reversed(self.copied)]
        for number, index in enumerate(itertools.product(*ranges)):
            at = [c + i * s for c, i, s in zip(self.corner, reversed(index), self.step)]
            inside = all(0 <= a < d for a, d in zip(at, self.dim))
            strides = [self.size, *self.stride]
            there = self.offset + sum(a * s for a, s in zip(at, strides)) if inside else None
            yield self.placed(number * self.size), there

    def loaded(self):
        shared = bytearray([HIDDEN]) * self.shared
        for here, there in self.elements():
            filled = (NAN * 4)[: self.size] if self.fill else bytes(self.size)
            shared[here : here + self.size] = filled if there is None else self.memory[there : there + self.size]
        return shared

    def stored(self):
        memory = bytearray(self.memory)
        for here, there in self.elements():
            if there is None:
                continue
            new = self.tile[here : here + self.size]
            if self.reduction:
                old, new = (PACK[self.kind].unpack(b)[0] for b in (memory[there : there + self.size], new))
                value = REDUCTIONS[self.reduction][1](old, new)
                new = self.pack(value if "f" in self.kind else wrapped(value, self.kind))
            memory[there : there + self.size] = new
        return memory

    def map_line(self):
        def many(numbers):
            return ",".join(str(n) for n in numbers)

        line = f"//! tensormap m g {self.kind} offset {self.offset} dim {many(self.dim)} box {many(self.box)}"
        line += f" step {many(self.step)}"
        line += f" stride {many(self.stride)}" if self.stride else ""
        line += f" swizzle {self.swizzle}" if self.swizzle else ""
        return line + (" fill nan" if self.fill else "")

    def head(self, lines, params):
        corner = "".join(f"    mov.u32 c{i}, {c};\n" for i, c in enumerate(self.corner))
        return HEAD.format(lines="\n".join(lines), params=params, shared=self.shared, place=self.place, corner=corner)

    def coordinates(self):
        return ", ".join(f"c{i}" for i in range(self.rank))

    def load(self):
        lines = [f"//! in g u32[{len(self.memory) // 4}] = {words(self.memory)}", self.map_line(),
                 f"//! out d u32[{self.shared // 4}]", f"//! expect d = {words(self.loaded())}", "//! clean"]
        head = self.head(lines, ".param .u64 g, .param .align 64 .b8 m[128], .param .u64 d")
        clear = loop("clear", self.shared, "mov.u32 at, s", "mad.lo.u32 at, n, 4, at", "st.shared.u32 [at], v")
        read = loop("read", self.shared, "mov.u32 at, s", "mad.lo.u32 at, n, 4, at", "ld.shared.u32 v, [at]",
                    "ld.param.u64 from, [d]", "add.u64 out, out, from", "st.global.u32 [out], v")
        return head + LOAD.format(clear=clear, read=read, bytes=self.bytes, rank=self.rank, space=self.space,
                                  coordinates=self.coordinates())

    def store(self):
        lines = [f"//! in a u32[{self.shared // 4}] = {words(self.tile)}",
                 f"//! inout g u32[{len(self.memory) // 4}] = {words(self.memory)}", self.map_line(),
                 f"//! expect g = {words(self.stored())}", "//! clean"]
        head = self.head(lines, ".param .u64 a, .param .u64 g, .param .align 64 .b8 m[128]")
        fill = loop("fill", self.shared, "ld.param.u64 from, [a]", "add.u64 from, from, out", "ld.global.u32 v, [from]",
                    "mov.u32 at, s", "mad.lo.u32 at, n, 4, at", "st.shared.u32 [at], v")
        verb = "cp.reduce" if self.reduction else "cp"
        instruction = f"{verb}.async.bulk.tensor.{self.rank}d.global.shared::cta"
        instruction += f".{self.reduction}" if self.reduction else ""
        return head + STORE.format(fill=fill, instruction=instruction + ".tile.bulk_group",
                                   coordinates=self.coordinates())


def words(data):
    return ",".join(hex(v) for v in struct.unpack(f"<{len(data) // 4}I", data))


def loop(name, size, *lines):
    return LOOP.format(name=name, words=size // 4, body="".join(f"    {line};\n" for line in lines))


def kernels(cases):
    draw = random.Random(12)

    def case(reduction):
        while True:
            drawn = Case(draw, reduction)
            if drawn.small():
                return drawn

    for number in range(cases):
        yield f"load_{number}", case(None).load()
        yield f"store_{number}", case(None).store()
        reduction = list(REDUCTIONS)[number % len(REDUCTIONS)]
        yield f"{reduction}_{number}", case(reduction).store()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path, help="leave the kernels here")
    parser.add_argument("--cases", type=int, default=64, help="loads, and as many stores and reductions")
    args, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="tensors-") as scratch:
        folder = (args.keep or pathlib.Path(scratch)) / "right"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in kernels(args.cases):
            (folder / f"{name}.ptx").write_text(text)
        sys.argv = ["run.py", *rest, str(folder)]
        return run.main()


if __name__ == "__main__":
    sys.exit(main())

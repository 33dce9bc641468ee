#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a card what its approximate functions give for all 2^32 inputs, and writes that small enough to send.

    sweep.py --out DIR                    on the machine with the card; needs Python, numpy and the driver
    sweep.py --out DIR --sums             the sums alone: enough to tell whether a card equals one that is known
    sweep.py --out DIR --driver LIB --rehearse    a few inputs of each, on the emulator (libspark-emu.so)

DIR gets sweep-1.zip, sweep-2.zip ... of at most 13 MB. Their members:
    card.json       which card, which driver, what was left out
    sums/F          of function F (as in FUNCTIONS): for each run of 65,536 inputs a sum of mixed results, u32
    halves/F        all 65,536 results, u16 or u32
    runs/F          2,048 consecutive inputs at 1,024 places, two in each exponent and sign
    full/F/X        the 2^23 results from the input with the bits X on
    pairs/F         div: results of pairs of inputs, u32
All but sums are packed (pack, unpack). What ptxas makes of the functions stands in docs/emulator.md.
"""
import argparse
import collections
import ctypes
import json
import lzma
import multiprocessing
import os
import pathlib
import sys
import zipfile

import numpy

PART = 13 << 20   # bytes of a part at most
PARTS = 5
RUN = 2048        # results that share a parabola in a packed member
BINADE = 1 << 23

F32 = ["ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos"]


def f32(word):
    return f"mov.b32 a, x; {word} a, a; mov.b32 y, a;"


def half(word):
    return f"cvt.u16.u32 h, x; {word} h, h; cvt.u32.u16 y, h;"


def upper(word):
    return f"mov.b64 d, {{0, x}}; {word} d, d; mov.b64 {{lo, y}}, d;"


def pair(word):
    """Lower half x, upper half its complement."""
    return f"shl.b32 y, x, 16; xor.b32 y, y, 0xffff0000; or.b32 y, y, x; {word} y, y;"


def quotient(word):
    """Of numbers drawn from x: of any size, or with every other x of a middling one."""
    return ("mul.lo.u32 y, x, 0x9e3779b1; shr.u32 t, y, 15; xor.b32 y, y, t; mul.lo.u32 y, y, 0x85ebca6b; "
            "mul.lo.u32 t, y, 0x2c1b3c6d; shr.u32 lo, t, 13; xor.b32 t, t, lo; "
            "and.b32 lo, x, 1; setp.eq.u32 q, lo, 0; @q and.b32 t, t, 0x8fffffff; @q or.b32 t, t, 0x30000000; "
            f"@q and.b32 y, y, 0x8fffffff; @q or.b32 y, y, 0x30000000; mov.b32 a, y; mov.b32 b, t; {word} a, a, b; "
            "mov.b32 y, a;")


ALL = {f"{f}{ftz}": f32(f"{f}.approx{ftz}.f32") for f in F32 for ftz in (".ftz", "")}
ALL["tanh"] = f32("tanh.approx.f32")
ALL |= {f"{f}.f64": upper(f"{f}.approx.ftz.f64") for f in ("rcp", "rsqrt")}
HALVES = {"ex2.f16": half("ex2.approx.f16"), "ex2.bf16": half("ex2.approx.ftz.bf16"),
          "tanh.f16": half("tanh.approx.f16"), "tanh.bf16": half("tanh.approx.bf16"),
          "ex2.f16x2": pair("ex2.approx.f16x2"), "ex2.bf16x2": pair("ex2.approx.ftz.bf16x2"),
          "tanh.f16x2": pair("tanh.approx.f16x2"), "tanh.bf16x2": pair("tanh.approx.bf16x2")}
PAIRS = {f"div.{kind}{ftz}": quotient(f"div.{kind}{ftz}.f32") for kind in ("approx", "full") for ftz in (".ftz", "")}
FUNCTIONS = ALL | HALVES | PAIRS

# Adds the mixed x and y to n: a y that differs always changes it.
MIX = """    and.b32 t, x, 0xffff;
    mul.lo.u32 t, t, 0x85ebca6b;
    mad.lo.u32 y, y, 0x9e3779b1, t;
    shr.u32 t, y, 15;
    xor.b32 y, y, t;
    mul.lo.u32 y, y, 0x2c1b3c6d;
    shr.u32 t, y, 13;
    xor.b32 y, y, t;
    add.u32 n, n, y;
"""
TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry values(.param .u64 p_out, .param .u32 p_first, .param .u32 p_run, .param .u32 p_stride)
{   // out[i] = f(first + run number * 2^stride + place in the run of 2^run)
    DECLARE
    mov.u32 t, %ctaid.x;
    mov.u32 i, %tid.x;
    mad.lo.u32 i, t, 256, i;
    ld.param.u32 n, [p_run];
    shr.u32 x, i, n;
    shl.b32 t, x, n;
    sub.u32 t, i, t;
    ld.param.u32 n, [p_stride];
    shl.b32 x, x, n;
    add.u32 x, x, t;
    ld.param.u32 t, [p_first];
    add.u32 x, x, t;
    BODY
    ld.param.u64 out, [p_out];
    mad.wide.u32 out, i, 4, out;
    st.global.u32 [out], y;
    ret;
}
.visible .entry sums(.param .u64 p_out, .param .u32 p_first)
{   // out[block] = the sum of the mixed results of 65,536 inputs: one that differs always changes it
    DECLARE
    ld.param.u32 t, [p_first];
    mov.u32 x, %ctaid.x;
    add.u32 x, x, t;
    mov.u32 t, %tid.x;
    mad.lo.u32 x, x, 65536, t;
    mov.u32 n, 0;
    mov.u32 i, 0;
again:
    BODY
MIX    add.u32 x, x, 256;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, 256;
    @p bra again;
    ld.param.u64 out, [p_out];
    mov.u32 t, %ctaid.x;
    mad.wide.u32 out, t, 4, out;
    red.global.add.u32 [out], n;
    ret;
}
"""
DECLARE = (".reg .b32 i, t, n, x, y, lo; .reg .b64 out; .reg .f32 a, b; .reg .f64 d; .reg .b16 h; .reg .pred p, q;")


def kernels(function):
    return TEXT.replace("DECLARE", DECLARE).replace("BODY", FUNCTIONS[function]).replace("MIX", MIX)


class Card:
    """The driver, one context, one buffer for results."""

    def __init__(self, library):
        self.cuda = ctypes.CDLL(library)
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.device = device.value
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.buffer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.buffer), ctypes.c_size_t(4 * BINADE))

    def call(self, name, *args):
        code = getattr(self.cuda, name)(*args)
        if code:
            raise SystemExit(f"sweep.py: {name} says {code}")

    def about(self):
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self.call("cuDeviceGetName", name, 256, self.device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        capability = []
        for attribute in (75, 76):
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self.device)
            capability.append(value.value)
        return {"device": name.value.decode(), "capability": capability, "driver": version.value}

    def load(self, function):
        """(values, sums) of a function."""
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), kernels(function).encode())
        found = []
        for name in (b"values", b"sums"):
            kernel = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(kernel), module, name)
            found.append(kernel)
        return found

    def launch(self, kernel, blocks, *numbers):
        holders = [self.buffer, *map(ctypes.c_uint32, numbers)]
        addresses = (ctypes.c_void_p * len(holders))(*[ctypes.addressof(h) for h in holders])
        self.call("cuLaunchKernel", kernel, blocks, 1, 1, 256, 1, 1, 0, None, addresses, None)

    def fetch(self, count):
        results = numpy.empty(count, numpy.uint32)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(results.ctypes.data), self.buffer, ctypes.c_size_t(4 * count))
        return results

    def values(self, kernel, first, count, run=RUN, stride=RUN):
        """Runs of so many consecutive inputs, the beginnings of two a stride apart; powers of two both."""
        self.launch(kernel, count // 256, first, run.bit_length() - 1, stride.bit_length() - 1)
        return self.fetch(count)

    def sums(self, kernel, first, blocks):
        self.call("cuMemsetD32_v2", self.buffer, 0, ctypes.c_size_t(blocks))
        self.launch(kernel, blocks, first)
        return self.fetch(blocks)


def parabola(terms):
    place = numpy.arange(RUN, dtype=numpy.int64)
    return (terms[:, :1] + terms[:, 1:2] * place + terms[:, 2:] * (place * place)) >> 28


def pack(results):
    """Each run of results as a parabola in integers and what is left, a byte each; a run that no byte holds is kept."""
    y = results.astype(numpy.int64).reshape(-1, RUN)
    place = numpy.arange(RUN) - RUN / 2
    basis = numpy.stack([numpy.ones(RUN), place, place * place], 1)
    c = numpy.linalg.pinv(basis) @ y.astype(float).T  # about the middle; then about the beginning
    terms = numpy.stack([c[0] - c[1] * RUN / 2 + c[2] * RUN * RUN / 4 + 0.5, c[1] - c[2] * RUN, c[2]], 1)
    with numpy.errstate(all="ignore"):
        terms = numpy.rint(terms * (1 << 28)).astype(numpy.int64)
    left = y - parabola(terms)
    odd = numpy.abs(left).max(1) > 127
    terms[odd], left[odd] = 0, 0
    body = (numpy.packbits(odd).tobytes() + terms.T.astype("<i8").tobytes() + left.astype(numpy.int8).tobytes()
            + results.reshape(-1, RUN)[odd].astype("<u4").tobytes())
    return len(results).to_bytes(8, "little") + lzma.compress(body, preset=1)


def unpack(member):
    count = int.from_bytes(member[:8], "little")
    body, runs = lzma.decompress(member[8:]), count // RUN
    cut = numpy.cumsum([0, -(-runs // 8), 24 * runs, count])
    odd = numpy.unpackbits(numpy.frombuffer(body[:cut[1]], numpy.uint8))[:runs].astype(bool)
    terms = numpy.frombuffer(body[cut[1]:cut[2]], "<i8").reshape(3, runs).T
    y = parabola(terms) + numpy.frombuffer(body[cut[2]:cut[3]], numpy.int8).reshape(runs, RUN)
    y[odd] = numpy.frombuffer(body[cut[3]:], "<u4").reshape(-1, RUN)
    return y.astype(numpy.uint32).reshape(-1)


def binades(exponents, signs=(0,)):
    return [sign << 31 | (e + 127) << 23 for e in exponents for sign in signs]


def wanted():
    """(function, first input) of the full binades, what matters most first."""
    both = (0, 1)
    first = {"ex2.ftz": binades([0, -1, 1], both), "lg2.ftz": binades([0, -1, 1, -2]), "rcp.ftz": binades([0]),
             "rsqrt.ftz": binades([0, 1]), "sqrt.ftz": binades([0, 1]), "rcp.f64": [0x3ff << 20],
             "rsqrt.f64": [0x3ff << 20], "tanh": binades(range(-3, 4)), "sin.ftz": binades(range(-2, 4)),
             "cos.ftz": binades(range(-2, 4))}
    then = {"ex2.ftz": binades([-2, 6, -3, 2], both), "sin.ftz": binades(range(-3, -8, -1)),
            "cos.ftz": binades(range(-3, -8, -1)), "rcp.ftz": binades([125, 126, 127, -126]),
            "rcp": binades([-127, 125, 126, 127]), "rsqrt": binades([-127]), "sqrt": binades([-127]),
            "lg2": binades([-127]), "ex2": binades([6], both), "tanh": binades([*range(-4, -10, -1), 4]),
            "lg2.ftz": binades([5, 126, -126])}
    last = {"sin.ftz": binades([*range(4, 8), -8, -10, -12]), "cos.ftz": binades([*range(4, 8), -8, -10, -12]),
            "ex2.ftz": binades(range(-4, -9, -1), both) + binades([3, 4, 5], both), "sin": binades([-127]),
            "tanh": binades([-10, -11, -12, -13])}
    return [(f, x) for group in (first, then, last) for f, starts in group.items() for x in starts]


class Parts:
    """The zip files, one after the other."""

    def __init__(self, folder):
        self.folder, self.number, self.size, self.file = folder, 0, PART, None

    def add(self, name, data):
        """False: there is no room."""
        if self.size + len(data) > PART:
            if self.number == PARTS:
                return False
            self.number, self.size = self.number + 1, 0
            self.close()
            self.file = zipfile.ZipFile(self.folder / f"sweep-{self.number}.zip", "w")
        self.file.writestr(name, data)
        self.size += len(data) + 200
        return True

    def close(self):
        if self.file:
            self.file.close()


def packed(job):
    name, results = job
    return name, pack(results)


def in_order(pool, jobs):
    """packed() of each job; the jobs themselves are made by this thread, since a context belongs to one."""
    waiting = collections.deque()
    for job in jobs:
        waiting.append(pool.apply_async(packed, (job,)))
        if len(waiting) > 2 * os.cpu_count():
            yield waiting.popleft().get()
    while waiting:
        yield waiting.popleft().get()


def small(card, args):
    """The members that are not packed, and (name, results) of those that are to be."""
    sums, runs = {}, []
    blocks, places = (4, 8) if args.rehearse else (1 << 16, 1024)
    for function in ALL:
        values, sum_kernel = card.load(function)
        sums[f"sums/{function}"] = card.sums(sum_kernel, 0x3f80 if args.rehearse else 0, blocks).tobytes()
        if not args.sums:
            runs.append((f"runs/{function}", card.values(values, 0x155000, places * RUN, RUN, 1 << 22)))
    for function in [] if args.sums else HALVES:
        results = card.values(card.load(function)[0], 0, 1 << 16)
        sums[f"halves/{function}"] = lzma.compress(results.tobytes() if function.endswith("x2") else
                                                   results.astype(numpy.uint16).tobytes())
    for function in [] if args.sums else PAIRS:
        count = 1 << (12 if args.rehearse else 17)
        sums[f"pairs/{function}"] = lzma.compress(card.values(card.load(function)[0], 0, count).tobytes())
    return sums, runs


def full(card, args):
    loaded = {}
    for function, first in [] if args.sums else wanted():
        if function not in loaded:
            loaded[function] = card.load(function)[0]
        yield f"full/{function}/{first:08x}", card.values(loaded[function], first, RUN if args.rehearse else BINADE)


def main():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--out", type=pathlib.Path, required=True, help="the folder for the parts")
    top.add_argument("--driver", default="libcuda.so.1", help="the driver library (default libcuda.so.1)")
    top.add_argument("--sums", action="store_true", help="nothing but the sums")
    top.add_argument("--rehearse", action="store_true", help="a few inputs of each function")
    args = top.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with multiprocessing.Pool(os.cpu_count()) as pool:  # before the driver: a context does not survive a fork
        card, parts, left_out = Card(args.driver), Parts(args.out), []
        plain, runs = small(card, args)
        for name, data in plain.items():
            parts.add(name, data)
        for jobs in (runs, full(card, args)):
            for name, data in in_order(pool, jobs):
                if not parts.add(name, data):
                    left_out.append(name)
        parts.file.writestr("card.json", json.dumps({**card.about(), "left_out": left_out}))
        parts.close()
    print(f"sweep.py: {parts.number} parts in {args.out}, {len(left_out)} members left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())

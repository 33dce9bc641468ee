#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of quantize with stochastic rounding: neighbours are looked up in the sorted list of what
ml_dtypes reads from all codes, and the random word is added to the exact fraction between them, of Python's
rationals. Philox is that of sample.py, scales and files those of make_formats.py, whose requirements it has.
"""
from fractions import Fraction

import ml_dtypes
import numpy as np

from make_formats import FORMATS, LARGEST_CODE, NUMBERS, divisor, e4m3, encode, once, save, tiles
from sample import WORD, philox

TYPES = NUMBERS | {"E2M1": ml_dtypes.float4_e2m1fn}
NOT_A_NUMBER = {"E4M3": 0x7F, "E5M2": 0x7F, "I8": 0, "E2M1": 7}


def ladder(codes):
    """The magnitudes that the codes have, ascending: a magnitude's place is its code."""
    count = {"E4M3": 127, "E5M2": 124, "I8": 128, "E2M1": 8}[codes]
    return [Fraction(float(v)) for v in np.arange(count, dtype=np.uint8).view(TYPES[codes])]


def draw(codes, quotients, seed, offset):
    """Codes of float32 quotients; element i has the 16 bits i % 8 of counter (offset, i / 8), lower first."""
    steps, out = ladder(codes), np.zeros(quotients.size, np.uint8)
    assert steps == sorted(steps)
    places = np.array([float(s) for s in steps])
    for i, q in enumerate(quotients.reshape(-1).tolist()):
        if np.isnan(q):
            out[i] = NOT_A_NUMBER[codes]
            continue
        code = int(np.searchsorted(places, abs(q), side="right")) - 1
        if code + 1 < len(steps):
            number = i // 8
            four = philox([offset & WORD, offset >> 32, number & WORD, number >> 32], [seed & WORD, seed >> 32])
            word = four[i % 8 // 2] >> i % 2 * 16 & 0xFFFF
            share = (Fraction(abs(q)) - steps[code]) / (steps[code + 1] - steps[code])
            code += word + share * 2**16 // 1 >= 2**16
        if codes == "I8":
            out[i] = (-code if q < 0 else code) & 0xFF
        else:
            out[i] = code | (np.signbit(q) << (3 if codes == "E2M1" else 7))
    return out.reshape(quotients.shape)


def numbers(g, rows, n, dtype, codes):
    """Of many exponents; zeros; not finite; a row of what is beyond and of what lies on numbers and between two."""
    x = once(np.ldexp(g.normal(size=(rows, n)), g.integers(-9, 3, (rows, n))), dtype)
    x[1], x[2, n // 2], x[3, 5] = 0, np.nan, -np.inf
    top = LARGEST_CODE.get(codes, 6)
    x[4] = once(g.choice([0.25, 0.5, 1, 1.5, 2.5, 5, top, top + 1, -0.0, -0.125], n) * g.choice([-1, 1], n), dtype)
    return x


def random_args(g):
    seed, offset = (int(g.integers(2**64, dtype=np.uint64)) for _ in range(2))
    return seed, offset, {"seed": str(seed), "offset": str(offset)}


def make_linear(number, codes, dtype, block, given):
    seed, rows, n = 5900 + number, 6, 131
    g = np.random.default_rng(seed)
    x, (key, offset, args) = numbers(g, rows, n, dtype, codes), random_args(g)
    block = block or n
    values = np.pad(x.astype(np.float32), ((0, 0), (0, -n % block))).reshape(rows, -1, block)
    with np.errstate(all="ignore"):
        scales = np.max(np.abs(values), axis=2) / np.float32(LARGEST_CODE[codes])
        scales = np.full_like(scales, given) if given else scales
        quotients = (values / divisor(scales)[:, :, None]).reshape(rows, -1)[:, :n]
        y = draw(codes, quotients, key, offset)
        wide = np.repeat(scales, block, axis=1)[:, :n].astype(np.float64)
        back = y.view(TYPES[codes]).astype(np.float64) * wide
        tensors = {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", [rows, n], y.tobytes()),
                   "scales": ("F32", list(scales.shape), scales.tobytes())}
        if codes != "E4M3":
            args |= {"codes": codes}
            tensors |= {f"back_{t.lower()}": (t, [rows, n], encode(once(back, t), t)) for t in FORMATS}
    save("quantize", f"stochastic_{codes.lower()}_{dtype.lower()}", tensors,
         {"block": block, "given": bool(given)} | args, seed)


def make_mx(number, form, dtype):
    """Scales as FLOOR makes them."""
    seed, codes, emax = 5900 + number, *{"mxfp8": ("E4M3", 8), "mxfp4": ("E2M1", 2)}[form]
    g = np.random.default_rng(seed)
    x, (key, offset, args) = numbers(g, 30, 32, dtype, codes), random_args(g)
    amax = np.max(np.abs(x), axis=1, keepdims=True)
    exponent = np.where(np.isinf(amax), 129, np.frexp(amax)[1]) - 1 - emax
    exponent = np.where(amax == 0, -127, np.maximum(exponent, -127))
    scales = np.where(np.isnan(amax), 255, exponent + 127).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        quotients = np.where(scales == 255, np.nan, np.ldexp(x, -exponent)).astype(np.float32)
    y = draw(codes, quotients, key, offset)
    y = (y[:, ::2] | y[:, 1::2] << 4).astype(np.uint8) if form == "mxfp4" else y
    save("quantize", f"stochastic_{form}", {"x": (dtype, [30, 32], encode(x, dtype)),
                                            "y": ("U8", list(y.shape), y.tobytes()),
                                            "scales": ("U8", [30, 1], scales.tobytes())},
         {"block": 32, "given": False} | args | ({"codes": codes} if form == "mxfp4" else {}), seed)


def make_nvfp4(number, dtype, rows=6, n=100):
    seed = 5900 + number
    g = np.random.default_rng(seed)
    x, (key, offset, args) = numbers(g, rows, n, dtype, "E2M1"), random_args(g)
    blocks = np.pad(x.astype(np.float32), ((0, 0), (0, -n % 16))).reshape(rows, -1, 16)
    whole = np.float32(0.0078)
    with np.errstate(all="ignore"):
        scales = e4m3(np.max(np.abs(blocks), axis=2) / divisor(np.float32(6) * whole)).astype(np.uint8)
        factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        quotients = (blocks / divisor(factors * whole)[:, :, None]).reshape(rows, -1)[:, :n]
        y = draw("E2M1", quotients, key, offset)
        wide = np.repeat(factors.astype(np.float64), 16, axis=1)[:, :n]
        back = y.view(TYPES["E2M1"]).astype(np.float64) * wide * np.float64(whole)
        packed, in_tiles = (y[:, ::2] | y[:, 1::2] << 4).astype(np.uint8), tiles(scales)
        tensors = {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", list(packed.shape), packed.tobytes()),
                   "scales": ("U8", list(scales.shape), scales.tobytes()),
                   "tiles": ("U8", [in_tiles.size], in_tiles.tobytes()),
                   "whole": ("F32", [1], np.array([whole], "<f4").tobytes())}
        tensors |= {f"back_{t.lower()}": (t, [rows, n], encode(once(back, t), t)) for t in FORMATS}
    save("quantize", "stochastic_nvfp4", tensors, {"given": True} | args, seed)


if __name__ == "__main__":
    make_linear(0, "E4M3", "BF16", 128, None)
    make_linear(1, "E5M2", "F16", None, None)
    make_linear(2, "I8", "F32", None, 0.0625)
    make_mx(3, "mxfp8", "F16")
    make_mx(4, "mxfp4", "F32")
    make_nvfp4(5, "BF16")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of quantize to NVFP4 with the better of two scales for each block: NumPy's float32 and
ml_dtypes, as make_formats.py, which writes them and whose requirements it has. The difference x - y scale, exact in
float64 for these numbers but for bits that do not count, is rounded to float32 once. Metadata as there.
"""
import ml_dtypes
import numpy as np

from make_formats import FORMATS, divisor, e2m1, e4m3, encode, once, save, tiles


def attempt(blocks, largest, whole):
    """(scales, codes, numbers, error) of blocks whose largest number is to become `largest`."""
    scales = e4m3(np.max(np.abs(blocks), axis=2) / divisor(np.float32(largest) * whole)).astype(np.uint8)
    factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    products = (factors * whole)[:, :, None]
    codes = e2m1(blocks / divisor(products)).astype(np.uint8)
    numbers = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    error = np.square((blocks.astype(np.float64) - numbers * products.astype(np.float64)).astype(np.float32))
    while error.shape[2] > 1:
        error = error[:, :, ::2] + error[:, :, 1::2]
    return scales, codes, numbers * factors.astype(np.float64)[:, :, None] * np.float64(whole), error[:, :, 0]


def make(dtype, seed, rows=6, n=100):
    g = np.random.default_rng(seed)
    x = once(np.ldexp(g.normal(size=(rows, n)), g.integers(-4, 3, (rows, n))), dtype)
    x[1], x[4, 50:] = 0, once(np.ldexp(x[4, 50:], -14), dtype)
    blocks = np.pad(x.astype(np.float32), ((0, 0), (0, -n % 16))).reshape(rows, -1, 16)
    whole = np.max(np.abs(blocks)) / np.float32(448 * 6)
    six, four = attempt(blocks, 6, whole), attempt(blocks, 4, whole)
    better = four[3] < six[3]
    print(f"    {better.sum()} blocks of {better.size} take 4")
    scales = np.where(better, four[0], six[0])
    codes, back = (np.where(better[:, :, None], b, a).reshape(rows, -1)[:, :n] for a, b in zip(six[1:3], four[1:3]))
    packed, in_tiles = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), tiles(scales)
    tensors = {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", list(packed.shape), packed.tobytes()),
               "scales": ("U8", list(scales.shape), scales.tobytes()),
               "tiles": ("U8", [in_tiles.size], in_tiles.tobytes()),
               "whole": ("F32", [1], np.array([whole], "<f4").tobytes())}
    tensors |= {f"back_{name.lower()}": (name, [rows, n], encode(once(back, name), name)) for name in FORMATS}
    save("quantize", f"four_over_six_{dtype.lower()}", tensors, {"given": False, "rule": "FOUR_OVER_SIX"}, seed)


if __name__ == "__main__":
    for number, name in enumerate(FORMATS):
        make(name, 5500 + number)

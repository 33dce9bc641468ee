#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of quantize to MXFP6: scales of powers of two, codes by ml_dtypes' float6, four in three
bytes, as little-endian numbers of 24 bits. Files and requirements are those of make_formats.py.
"""
import ml_dtypes
import numpy as np

from make_formats import FORMATS, encode, once, save

FP6 = {"E2M3": (ml_dtypes.float6_e2m3fn, 7.5), "E3M2": (ml_dtypes.float6_e3m2fn, 28)}


def make():
    for i, (codes, dtype) in enumerate((("E2M3", "F32"), ("E2M3", "BF16"), ("E3M2", "F32"), ("E3M2", "F16"))):
        seed, (kind, largest) = 5440 + i, FP6[codes]
        g = np.random.default_rng(seed)
        x = once(np.ldexp(g.normal(size=(48, 64)), g.integers(-30, 9, (48, 1))), dtype)
        x[1], x[2, 14], x[3, 5], x[4] = 0, np.nan, np.inf, once(np.ldexp(x[4], FORMATS[dtype][1]), dtype)
        blocks = x.reshape(96, 32)
        amax = np.max(np.abs(blocks), axis=1, keepdims=True)
        exponent = np.where(np.isinf(amax), 129, np.frexp(amax)[1]) - np.frexp(largest)[1]
        exponent = np.where(amax == 0, -127, np.maximum(exponent, -127))
        scaled = np.ldexp(blocks, -exponent).astype(np.float32)
        bits = np.clip(np.nan_to_num(scaled, nan=largest), -largest, largest).astype(kind).view(np.uint8)
        scales = np.where(np.isnan(amax), 255, exponent + 127).astype(np.uint8)
        bits = np.where(scales == 255, np.array([largest]).astype(kind).view(np.uint8), bits)
        four = bits.astype(np.uint32).reshape(-1, 4) @ np.array([1, 1 << 6, 1 << 12, 1 << 18], np.uint32)
        y = four.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].reshape(48, 48)
        save("quantize", f"mxfp6_{codes.lower()}_{dtype.lower()}",
             {"x": (dtype, [48, 64], encode(x, dtype)), "y": ("U8", [48, 48], y.tobytes()),
              "scales": ("U8", [48, 2], scales.reshape(48, 2).tobytes())},
             {"block": 32, "given": False, "codes": codes}, seed)


if __name__ == "__main__":
    make()

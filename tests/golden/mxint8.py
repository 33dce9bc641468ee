#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of MXINT8, by OCP's MX 1.0 alone: scales of powers of two for 32, a byte in two's complement
of which 64 are 1; quantize in float32 of NumPy, and products with such weights in float64, matmul. Files and
requirements are those of make_formats.py.
"""
import numpy as np

from make_formats import FORMATS, encode, once, save


def scales_of(blocks):
    """Bytes of UE8M0: 2^floor(log2(amax)), the largest 2^127, of nothing 2^-127, 255 of a block with a NaN."""
    amax = np.max(np.abs(blocks), axis=1, keepdims=True)
    exponent = np.where(amax == 0, -127, np.frexp(np.where(np.isinf(amax), 1, amax))[1] - 1)
    exponent = np.where(np.isinf(amax), 127, np.clip(exponent, -127, 127))
    return np.where(np.isnan(amax), 255, exponent + 127).astype(np.uint8)


def quantize(dtype, seed):
    g = np.random.default_rng(seed)
    x = once(np.ldexp(g.normal(size=(48, 64)), g.integers(-30, 9, (48, 1))), dtype)
    x[1], x[2, 14], x[3, 5], x[4] = 0, np.nan, np.inf, once(np.ldexp(x[4], FORMATS[dtype][1]), dtype)
    x[5] = once(np.arange(64) / 128, dtype)  # ties
    blocks = x.reshape(96, 32)
    scales = scales_of(blocks)
    scaled = np.ldexp(blocks, 127 - scales.astype(np.int64)).astype(np.float32) * np.float32(64)
    codes = np.where(scales == 255, 0, np.clip(np.rint(np.nan_to_num(scaled, nan=0)), -127, 127)).astype(np.int8)
    save("quantize", f"mxint8_{dtype.lower()}",
         {"x": (dtype, [48, 64], encode(x, dtype)), "y": ("U8", [48, 64], codes.tobytes()),
          "scales": ("U8", [48, 2], scales.tobytes())}, {"block": 32, "given": False, "codes": "I2F6"}, seed)


def weights(dtype, seed):
    m, n, k = 5, 13, 192
    g = np.random.default_rng(seed)
    a, b = once(g.normal(size=(m, k)), dtype), g.integers(-128, 128, (n, k)).astype(np.int8)
    scales = g.integers(115, 130, (n, k // 32)).astype(np.uint8)
    numbers = b / 64 * np.repeat(np.ldexp(1.0, scales.astype(np.int64) - 127), 32, axis=1)
    d = a @ numbers.T
    save("gemm", f"mxint8_weights_{dtype.lower()}",
         {"a": (dtype, [m, k], encode(a, dtype)), "b": ("U8", [n, k], b.tobytes()),
          "b_blocks": ("U8", [n, k // 32], scales.tobytes()), "d64": ("F64", [m, n], d.tobytes()),
          "d": (dtype, [m, n], encode(once(d, dtype), dtype))},
         {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False,
          "b_codes": "I2F6"}, seed, float((k + 4) * 2.0**-52 * (np.abs(a) @ np.abs(numbers.T)).max()),
         "sums of K products, each exact in double: each of K steps is off by less than 2^-52 of the magnitudes")


if __name__ == "__main__":
    for at, of in enumerate(("F32", "BF16", "F16")):
        quantize(of, 5640 + at)
    weights("BF16", 5643)

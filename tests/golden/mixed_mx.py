#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of gemm of OCP's formats by each other: codes of ml_dtypes' float8, float6 and float4, as
many of them in a byte as go, the first in the lowest bits; and by E4M3 with a scale for 32 x 32. Files and requirements
are those of make_formats.py.
"""
import ml_dtypes
import numpy as np

from make_formats import encode, once, save

CODES = {"E4M3": (8, ml_dtypes.float8_e4m3fn), "E5M2": (8, ml_dtypes.float8_e5m2), "E2M3": (6, ml_dtypes.float6_e2m3fn),
         "E3M2": (6, ml_dtypes.float6_e3m2fn), "E2M1": (4, ml_dtypes.float4_e2m1fn)}


def drawn(g, name, rows, k, share=1):
    """(codes in bytes, scales of blocks, the numbers they stand for) of rows of k random codes, none of them NaN; so
    many rows share scales."""
    bits, kind = CODES[name]
    codes = g.integers(0, 1 << bits, (rows, k)).astype(np.uint8)
    numbers = codes.view(kind).astype(np.float64)
    codes, numbers = np.where(np.isfinite(numbers), (codes, numbers), 0)
    scales = g.integers(115, 130, (-(-rows // share), k // 32)).astype(np.uint8)
    factors = np.repeat(scales.view(ml_dtypes.float8_e8m0fnu).astype(np.float64), 32, axis=1)
    factors = np.repeat(factors, share, axis=0)[:rows]
    stream = (codes.astype(np.uint8)[..., None] >> np.arange(bits)) & 1
    stored = np.packbits(stream.reshape(rows, -1).astype(np.uint8), axis=1, bitorder="little")
    return ("U8", list(stored.shape), stored.tobytes()), ("U8", list(scales.shape), scales.tobytes()), numbers * factors


def make():
    why = "sums of 96 products that are exact in double"
    k = 96
    pairs = ("E4M3", "E2M1"), ("E5M2", "E4M3"), ("E2M3", "E3M2"), ("E3M2", "E5M2"), ("E2M1", "E2M3"), ("E4M3", "E4M3")
    for i, names in enumerate(pairs):
        squares = names[0] == names[1]
        seed, m, n = 5520 + i, 11, 70 if squares else 13
        g = np.random.default_rng(seed)
        tensors, numbers = {}, []
        for field, name, rows, share in zip("ab", names, (m, n), (1, 32 if squares else 1)):
            tensors[field], tensors[f"{field}_blocks"], decoded = drawn(g, name, rows, k, share)
            numbers.append(decoded)
        d = numbers[0] @ numbers[1].T
        tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
        args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False,
                "a_codes": names[0], "b_codes": names[1]}
        save("gemm", f"mx_{names[0].lower()}_{'32x32' if squares else names[1].lower()}", tensors, args, seed,
             float(4 * 2.0**-52 * np.abs(d).max()), why)


if __name__ == "__main__":
    make()

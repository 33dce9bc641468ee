#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of gemm over F32 by tensor cores: TF32, rounded on the bits of FP32, and pairs of BF16, by
ml_dtypes; then NumPy's matmul in float64. Needs what make_formats.py needs; nothing of libspark is used."""
import ml_dtypes
import numpy as np

from make_formats import encode, once, save

BY = f"NumPy {np.__version__}, float64, ml_dtypes {ml_dtypes.__version__}"


def tf32(x):
    """The upper 19 bits of FP32, to nearest even."""
    words = x.astype("<f4").view("<u4").astype(np.uint64)
    words += 0xFFF + (words >> 13 & 1)
    return (words & 0xFFFFE000).astype("<u4").view("<f4").astype(np.float64)


def halves(x):
    high = x.astype("<f4").astype(ml_dtypes.bfloat16).astype("<f4")
    with np.errstate(invalid="ignore"):
        low = (x.astype("<f4") - high).astype(ml_dtypes.bfloat16)
    return high.astype(np.float64), low.astype(np.float64)


def strange(x):
    """An infinity, and FP32's largest number, which no number of BF16 is near."""
    x[1, 5], x[3, 7] = -np.inf, np.finfo(np.float32).max / 2**100
    x[4, 2] = np.finfo(np.float32).max
    return x


def product(a, b, products):
    if products == "tf32":
        return tf32(a) @ tf32(b).T
    (a_high, a_low), (b_high, b_low) = halves(a), halves(b)
    with np.errstate(invalid="ignore"):
        d = a_low @ b_high.T + a_high @ b_low.T + a_high @ b_high.T
        return np.where(np.isnan(d), a @ b.T, d)


def make(name, products, odd, seed):
    m, n, k = 6, 20, 56
    g = np.random.default_rng(seed)
    a, b = once(g.normal(size=(m, k)), "F32"), once(g.normal(size=(n, k)) / 16, "F32")
    a = strange(a) if odd else a
    d = product(a, b, products)
    tensors = {"a": ("F32", [m, k], encode(a, "F32")), "b": ("F32", [n, k], encode(b, "F32")),
               "d64": ("F64", [m, n], d.tobytes()), "d": ("F32", [m, n], encode(once(d, "F32"), "F32"))}
    args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False,
            "products": products}
    magnitudes = np.abs(np.where(np.isfinite(a), a, 0)) @ np.abs(b).T
    why = "sums of 3 K products, each exact in double: each of 3 K steps is off by less than 2^-52 of the magnitudes"
    save("gemm", name, tensors, args, seed, float(3 * k * 2.0**-52 * magnitudes.max()), why, BY)


if __name__ == "__main__":
    make("tf32", "tf32", False, 6200)
    make("bf16x3", "bf16x3", False, 6201)
    make("bf16x3_strange", "bf16x3", True, 6202)

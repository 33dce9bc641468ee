#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of NF4: quantize, and gemm with such weights. The table is made of SciPy's normal quantiles
as the paper of QLoRA (Dettmers and others, 2023) and bitsandbytes make it, codes are the nearest numbers of it by
NumPy's search. Files and requirements are those of make_formats.py.
"""
import numpy as np
import scipy.stats

from make_formats import encode, once, save

BY = f"NumPy {np.__version__}, SciPy {scipy.__version__}"


def quantiles():
    least = 0.9677083
    above, below = (scipy.stats.norm.ppf(np.linspace(least, 0.5, count)[:-1]) for count in (9, 8))
    made = np.sort(np.concatenate([above, [0], -below]))
    return made / made.max()


TABLE = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                  -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
                  0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                  0.7229568362236023, 1.0])


def packed(codes):
    return (codes[:, ::2] << 4 | codes[:, 1::2]).astype(np.uint8)


def make_quantize(name, dtype, stored, seed):
    rows, n = 6, 192
    g = np.random.default_rng(seed)
    x = once(g.normal(size=(rows, n)), dtype)
    x[1, :64] = 0
    parts = x.astype(np.float32).reshape(rows, -1, 64)
    scales = once(np.abs(parts).max(axis=2), stored)
    middles = ((TABLE[1:] + TABLE[:-1]) / 2).astype(np.float32)
    with np.errstate(invalid="ignore"):
        quotients = parts / np.where(scales == 0, np.inf, scales).astype(np.float32)[..., None]
    y = packed(np.searchsorted(middles, quotients, side="left").reshape(rows, n))
    save("quantize", name, {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", list(y.shape), y.tobytes()),
                            "scales": (stored, list(scales.shape), encode(scales, stored))},
         {"codes": "NF4", "block": 64, "given": False}, seed, by=BY)


def make_gemm(name, dtype, seed):
    m, n, k = 5, 7, 128
    g = np.random.default_rng(seed)
    codes = g.integers(0, 16, (n, k))
    scales = np.abs(g.normal(size=(n, k // 64))).astype(np.float32)
    a, b = once(g.normal(size=(m, k)), dtype), packed(codes)
    d = a @ (TABLE[codes] * np.repeat(scales.astype(np.float64), 64, axis=1)).T
    save("gemm", name, {"a": (dtype, [m, k], encode(a, dtype)), "b": ("U8", list(b.shape), b.tobytes()),
                        "b_blocks": ("F32", list(scales.shape), scales.tobytes()), "d64": ("F64", [m, n], d.tobytes()),
                        "d": (dtype, [m, n], encode(once(d, dtype), dtype))},
         {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False,
          "b_codes": "NF4"}, seed, float(k * 2.0**-52 * np.abs(d).max()) + 2.0**-44,
         "sums of 128 products of 48 bits and more in another order", by=BY)


if __name__ == "__main__":
    assert np.abs(TABLE - quantiles()).max() < 2.0**-22
    make_quantize("nf4_bf16", "BF16", "F32", 5540)
    make_quantize("nf4_f32_scales_bf16", "F32", "BF16", 5541)
    make_gemm("nf4_weights_bf16", "BF16", 5542)

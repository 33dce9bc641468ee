#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of gemm over weights of MXFP4, NVFP4 and MXFP8 beside numbers: ml_dtypes' codes and scales
to float64, matmul. make_formats.py's requirements; run it as that."""
import numpy as np

from make_formats import block_scaled, encode, once, save

M, N, K = 5, 13, 192


def make(form, dtype, seed):
    why = "sums of K products, each exact in double: each of K steps is off by less than 2^-52 of the magnitudes"
    g = np.random.default_rng(seed)
    b, scales, numbers = block_scaled(g, form, N, K)
    a = once(g.normal(size=(M, K)), dtype)
    whole = (2.0**-8 * (1 + g.random(1))).astype(np.float32)
    factor = float(whole[0]) if form == "nvfp4" else 1.0
    d = a @ numbers.T * factor
    tensors = {"a": (dtype, [M, K], encode(a, dtype)), "b": b, "b_blocks": scales,
               "d64": ("F64", [M, N], d.tobytes()), "d": (dtype, [M, N], encode(once(d, dtype), dtype))}
    if form == "nvfp4":
        tensors["b_scale"] = ("F32", [1], whole.tobytes())
    args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
    error = (K + 4) * 2.0**-52 * factor * (np.abs(a) @ np.abs(numbers.T)).max()
    save("gemm", f"{form}_weights", tensors, args, seed, float(error), why)


if __name__ == "__main__":
    make("mxfp4", "BF16", 5340)
    make("nvfp4", "F16", 5341)
    make("mxfp8", "BF16", 5342)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vector of gemm over E4M3 with scales of 1 x 128 and of 128 x 128: NumPy's matmul in float64 of
ml_dtypes' numbers, as make_formats.py, which writes it and whose requirements it has. The last blocks are shorter.
"""
import ml_dtypes
import numpy as np

from make_formats import encode, once, save


def make():
    why = "sums of 300 products, each exact in double: each of 300 steps is off by less than 2^-52 of the magnitudes"
    m, n, k = 7, 131, 300
    seed = 5340
    g = np.random.default_rng(seed)
    tensors, numbers = {}, []
    for field, rows, share in (("a", m, 1), ("b", n, 128)):
        codes = g.integers(0, 256, (rows, k))
        codes = np.where(codes % 128 == 127, 0, codes).astype(np.uint8)
        scales = (2.0**-8 * (1 + g.random((-(-rows // share), -(-k // 128))))).astype(np.float32)
        factors = np.repeat(np.repeat(scales.astype(np.float64), share, axis=0)[:rows], 128, axis=1)[:, :k]
        tensors |= {field: ("F8_E4M3", [rows, k], codes.tobytes()),
                    f"{field}_blocks": ("F32", list(scales.shape), scales.tobytes())}
        numbers.append(codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64) * factors)
    a, b = numbers
    d = a @ b.T
    tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
    args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
    save("gemm", "e4m3_1x128_128x128", tensors, args, seed, float(k * 2.0**-52 * (np.abs(a) @ np.abs(b).T).max()), why)


if __name__ == "__main__":
    make()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of compress, and of gemm over what it makes: NumPy's argsort, and matmul in float64 with the
numbers that are not kept set to zero; of FP8 those of ml_dtypes, with scales of rows. Needs what make_formats.py needs;
nothing of libspark is used."""
import ml_dtypes
import numpy as np

from make_formats import encode, once, save

BY = f"NumPy {np.__version__}, float64"
ARGS = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}


def places_of(x):
    """The two of each four that are largest, of equals the first, in the order of their places: [rows, K / 4, 2]."""
    magnitudes = np.abs(x.reshape(x.shape[0], -1, 4))
    return np.sort(np.argsort(-magnitudes, axis=-1, kind="stable")[..., :2], axis=-1)


def kept_of(places):
    """A byte for two fours, the first in the lower half."""
    halves = places[..., 0] + 4 * places[..., 1]
    halves = np.pad(halves, ((0, 0), (0, halves.shape[1] % 2)))
    return (halves[:, ::2] + 16 * halves[:, 1::2]).astype(np.uint8)


def take(x, places):
    return np.take_along_axis(x.reshape(x.shape[0], -1, 4), places, axis=-1)


def make_compress(name, dtype, few, seed):
    rows, k = 9, 44
    g = np.random.default_rng(seed)
    x = once(g.integers(-3, 4, (rows, k)).astype(float) if few else g.normal(size=(rows, k)), dtype)
    places = places_of(x)
    y, kept = take(x, places).reshape(rows, -1), kept_of(places)
    save("compress", name, {"x": (dtype, [rows, k], encode(x, dtype)), "y": (dtype, [rows, k // 2], encode(y, dtype)),
                            "kept": ("U8", list(kept.shape), kept.tobytes())}, {}, seed, by=BY)


def numbers_of(codes):
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def e4m3_codes(g, shape):
    """All but NaN."""
    codes = g.integers(0, 256, shape)
    return np.where(codes % 128 == 127, 0, codes).astype(np.uint8)


def make_fp8(seed):
    rows, k, m = 24, 136, 7
    g = np.random.default_rng(seed)
    x, a = e4m3_codes(g, (rows, k)), e4m3_codes(g, (m, k))
    places = places_of(numbers_of(x))
    y, kept = take(x, places).reshape(rows, -1), kept_of(places)
    of_kept, of_y = ("U8", list(kept.shape), kept.tobytes()), ("F8_E4M3", [rows, k // 2], y.tobytes())
    save("compress", "e4m3", {"x": ("F8_E4M3", [rows, k], x.tobytes()), "y": of_y, "kept": of_kept}, {}, seed, by=BY)
    pruned = np.zeros((rows, k // 4, 4))
    np.put_along_axis(pruned, places, take(numbers_of(x), places), axis=-1)
    pruned = pruned.reshape(rows, k)
    scales = [(2.0**-8 * (1 + g.random(count))).astype(np.float32) for count in (m, rows)]
    outer = np.outer(*[s.astype(np.float64) for s in scales])
    d = numbers_of(a) @ pruned.T * outer
    tensors = {"a": ("F8_E4M3", [m, k], a.tobytes()), "b": of_y, "kept": of_kept,
               "a_scale": ("F32", [m], scales[0].tobytes()), "b_scale": ("F32", [rows], scales[1].tobytes()),
               "d64": ("F64", [m, rows], d.tobytes()), "d": ("BF16", [m, rows], encode(once(d, "BF16"), "BF16"))}
    why = "sums are exact in double, of 68 products with 8 bits from 2^-18 to 2^18; two scales are rounded twice"
    save("gemm", "two_of_four_e4m3", tensors, ARGS, seed, float(4 * 2.0**-52 * np.abs(d).max()), why)


def make_gemm(name, dtype, seed):
    m, n, k = 7, 24, 136
    g = np.random.default_rng(seed)
    a, w = once(g.normal(size=(m, k)), dtype), once(g.normal(size=(n, k)), dtype)
    places = places_of(w)
    b, kept = take(w, places).reshape(n, -1), kept_of(places)
    pruned = np.zeros((n, k // 4, 4))
    np.put_along_axis(pruned, places, take(w, places), axis=-1)
    pruned = pruned.reshape(n, k)
    d = a @ pruned.T
    tensors = {"a": (dtype, [m, k], encode(a, dtype)), "b": (dtype, [n, k // 2], encode(b, dtype)),
               "kept": ("U8", list(kept.shape), kept.tobytes()), "d64": ("F64", [m, n], d.tobytes()),
               "d": (dtype, [m, n], encode(once(d, dtype), dtype))}
    why = "sums of K products, each exact in double: each of K steps is off by less than 2^-52 of the magnitudes"
    save("gemm", name, tensors, ARGS, seed, float(k * 2.0**-52 * (np.abs(a) @ np.abs(pruned.T)).max()), why)


if __name__ == "__main__":
    make_compress("bf16", "BF16", False, 6100)
    make_compress("equals_f16", "F16", True, 6101)
    make_gemm("two_of_four", "BF16", 6102)
    make_fp8(6103)

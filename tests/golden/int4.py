#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of repack, and of gemm over weights of four bits with scales and zeros of groups: NumPy's
matmul in float64. make_formats.py's requirements; run it as that.

Weights begin as checkpoints hold them, in words of 32 bits, and are unpacked from there by what the formats say:
    AWQ    words [K, N / 8]; place i of a word is column 0 2 4 6 1 3 5 7 [i] of its eight; zeros [K / G, N / 8] likewise
    GPTQ   words [K / 8, N]; place i of a word is row i of its eight; zeros [K / G, N / 8], place i is column i, and
           holds the zero less 1, modulo 16
    both   w[k, n] = scale[k / G, n] * (code[k, n] - zero[k / G, n])
Those files also hold what the same weights are as [N, K], two codes a byte, the first in the lower half.
"""
import numpy as np

from make_formats import encode, once, save

AWQ = [0, 2, 4, 6, 1, 3, 5, 7]


def words_of(columns, order):
    """Eight neighbours of the last dimension in a word, in that order."""
    eights = columns.reshape(*columns.shape[:-1], -1, 8).astype(np.uint32)[..., order]
    return np.bitwise_or.reduce(eights << (4 * np.arange(8, dtype=np.uint32)), axis=-1)


def columns_of(words, order):
    """The reverse, a place at a time."""
    out = np.zeros((*words.shape, 8), np.uint8)
    for place, column in enumerate(order):
        out[..., column] = words >> np.uint32(4 * place) & np.uint32(15)
    return out.reshape(*words.shape[:-1], -1)


def draw_awq(g, k, n, group):
    words = words_of(g.integers(0, 16, (k, n)), AWQ)
    zeros = words_of(g.integers(0, 16, (k // group, n)), AWQ)
    return words, zeros, columns_of(words, AWQ), columns_of(zeros, AWQ)


def draw_gptq(g, k, n, group):
    straight = list(range(8))
    words = words_of(g.integers(0, 16, (n, k)), straight).T
    zeros = words_of(g.integers(0, 16, (k // group, n)), straight)
    return words, zeros, columns_of(words.T, straight).T, (columns_of(zeros, straight) + 1) % 16


def halves(codes):
    flat = codes.reshape(codes.shape[0], -1).astype(np.uint8)
    return flat[:, 0::2] | flat[:, 1::2] << 4


def make_gemm(name, draw, dtype, group, seed):
    why = "sums of K products, each exact in double: each of K steps is off by less than 2^-52 of the magnitudes"
    m, n, k = 5, 24, 384
    g = np.random.default_rng(seed)
    _, _, codes, zeros = draw(g, k, n, group)
    scales = (g.normal(size=(k // group, n)) / 64).astype(np.float16)
    w = scales.astype(np.float64).repeat(group, axis=0) * (codes.astype(int) - zeros.astype(int).repeat(group, axis=0))
    a = once(g.normal(size=(m, k)), dtype)
    d = a @ w
    tensors = {"a": (dtype, [m, k], encode(a, dtype)), "b": ("U8", [n, k // 2], halves(codes.T).tobytes()),
               "b_blocks": ("F16", [n, k // group], np.ascontiguousarray(scales.T).tobytes()),
               "b_zeros": ("U8", [n, k // group], np.ascontiguousarray(zeros.T).tobytes()),
               "d64": ("F64", [m, n], d.tobytes()), "d": (dtype, [m, n], encode(once(d, dtype), dtype))}
    args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
    save("gemm", name, tensors, args, seed, float(k * 2.0**-52 * (np.abs(a) @ np.abs(w)).max()), why)


def make_repack(name, order, transposed, plus, seed):
    """AWQ's weights, whose codes become neighbours along K; GPTQ's zeros, in their places; AWQ's zeros."""
    rows, words = 16, 5
    g = np.random.default_rng(seed)
    x = words_of(g.integers(0, 16, (rows, 8 * words)), AWQ if order == "interleaved" else list(range(8)))
    y = (columns_of(x, AWQ if order == "interleaved" else list(range(8))) + plus) % 16
    out = halves(y.T if transposed else y)
    save("repack", name, {"x": ("I32", [rows, words], x.tobytes()), "y": ("U8", list(out.shape), out.tobytes())},
         {"order": order, "plus": plus, "y_transposed": transposed}, seed,
         by=f"NumPy {np.__version__}")


def make_quantize(name, stored, block, seed):
    rows, n = 6, 256
    g = np.random.default_rng(seed)
    x = g.normal(size=(rows, n)).astype(np.float16)
    x[1, :block] = 0
    x[2, 3] = 60000
    parts = x.astype(np.float32).reshape(rows, -1, block)
    scales = (np.abs(parts).max(axis=2) / np.float32(7)).astype(stored)
    by = scales.astype(np.float32)[..., None]
    with np.errstate(invalid="ignore"):
        codes = np.rint(np.clip(parts / np.where(by == 0, np.float32(np.inf), by), -7, 7)).astype(int) & 15
    y = halves(codes.reshape(rows, n))
    save("quantize", name, {"x": ("F16", [rows, n], x.tobytes()), "y": ("U8", list(y.shape), y.tobytes()),
                            "scales": ({2: "F16", 4: "F32"}[by.dtype.itemsize if stored == np.float32 else 2],
                                       list(scales.shape), scales.tobytes())},
         {"codes": "I4", "block": block, "given": False}, seed, by=f"NumPy {np.__version__}, float32")


if __name__ == "__main__":
    make_quantize("int4_32", np.float16, 32, 47)
    make_quantize("int4_128_f32", np.float32, 128, 48)
    make_repack("awq_weights", "interleaved", True, 0, 43)
    make_repack("awq_zeros", "interleaved", False, 0, 44)
    make_repack("gptq_zeros", "linear", False, 1, 45)
    make_repack("gptq_symmetric", "linear", False, 8, 46)
    make_gemm("int4_awq", draw_awq, "F16", 128, 41)
    make_gemm("int4_gptq", draw_gptq, "BF16", 32, 42)

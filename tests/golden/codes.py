#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of operators whose results are codes with scales: rmsnorm, layernorm, glu, rope and gemm.
The operator in float64 of NumPy and SciPy, its result rounded once to float32; then, as in make_formats.py, whose files
and requirements these have, scales and quotients in float32 and codes by ml_dtypes.
"""
import ml_dtypes
import numpy as np
import scipy.special

from make_formats import FORMATS, LARGEST_CODE, codes_of, e4m3, encode, once, save

BY = f"NumPy {np.__version__}, float64, SciPy {scipy.__version__}, ml_dtypes {ml_dtypes.__version__}"
WHY = "codes and scales of a result rounded once to float32: compared bit for bit"


def f32(values):
    return once(values, "F32").astype(np.float32)


def coded(numbers, form, codes):
    """Codes and scales of float32 numbers: `form` is row, 1x128 or mxfp8."""
    rows, n = numbers.shape
    block = {"row": n, "1x128": 128, "mxfp8": 32}[form]
    y, scales = np.zeros((rows, n), np.uint8), []
    for first in range(0, n, block):
        part = numbers[:, first : first + block]
        amax = np.max(np.abs(part), axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            if form == "mxfp8":
                exponent = np.where(amax == 0, -127, np.maximum(np.frexp(amax)[1] - 9, -127))
                stored = np.where(np.isnan(amax), 255, exponent + 127).astype(np.uint8)
                scale = np.where(np.isnan(amax), np.nan, np.ldexp(1.0, exponent)).astype(np.float32)
            else:
                stored = scale = (amax / np.float32(LARGEST_CODE.get(codes, 448))).astype(np.float32)
            quotients = part / np.where(scale == 0, np.float32(np.inf), scale)
            y[:, first : first + block] = e4m3(quotients) if codes == "E4M3" else codes_of(quotients, codes)
        scales.append(stored)
    return y, np.concatenate(scales, axis=1), block


def save_coded(op, name, numbers, form, codes, inputs, more, args, seed):
    y, scales, block = coded(numbers, form, codes)
    dtype = "U8" if form == "mxfp8" else "F32"
    results = {"y": ("U8", list(y.shape), y.tobytes()), "scales": (dtype, list(scales.shape), scales.tobytes())}
    shaped = {key: (kind, list(values.shape), encode(values, kind)) for key, (kind, values) in inputs.items()}
    save(op, f"codes_{name}", shaped | results | more, args | {"block": block, "given": False, "codes": codes}, seed,
         why=WHY, by=BY)


def make_norms():
    cases = [  # operator, name, dtype, form, codes, N, residual
        ("rmsnorm", "row_bf16", "BF16", "row", "E4M3", 320, False),
        ("rmsnorm", "row_add_f16", "F16", "row", "E4M3", 131, True),
        ("rmsnorm", "i8_row_f32", "F32", "row", "I8", 96, False),
        ("rmsnorm", "1x128_bf16", "BF16", "1x128", "E4M3", 300, False),
        ("rmsnorm", "mxfp8_add_bf16", "BF16", "mxfp8", "E4M3", 136, True),
        ("layernorm", "row_bf16", "BF16", "row", "E4M3", 200, False),
        ("layernorm", "mxfp8_f16", "F16", "mxfp8", "E4M3", 96, False),
    ]
    for i, (op, name, dtype, form, codes, n, has_residual) in enumerate(cases):
        seed, rows, eps = 7700 + i, 6, np.float32(1e-5)
        g = np.random.default_rng(seed)
        x, residual = (once(g.normal(size=(rows, n)) * 3, dtype) for _ in range(2))
        weight, bias = (once(g.normal(size=n), dtype) for _ in range(2))
        x[1], x[2, n // 2] = 0, np.nan
        residual[1] = 0
        inputs, more = {"x": (dtype, x), "weight": (dtype, weight)}, {}
        s = x
        if has_residual:
            s = once(x + residual, "F32")
            inputs["residual"] = dtype, residual
            more["residual_out"] = dtype, list(s.shape), encode(once(s, dtype), dtype)
        args = {"eps": float(eps), "normalize_rounded": False}
        if op == "rmsnorm":
            exact = s / np.sqrt(np.mean(s * s, axis=1, keepdims=True) + float(eps)) * weight
            args |= {"weight_plus_one": False, "round_before_weight": False}
        else:
            d = s - np.mean(s, axis=1, keepdims=True)
            exact = d / np.sqrt(np.mean(d * d, axis=1, keepdims=True) + float(eps)) * weight + bias
            inputs["bias"] = dtype, bias
        save_coded(op, name, f32(exact), form, codes, inputs, more, args, seed)


def make_glu():
    for i, (name, dtype, form, codes, n) in enumerate((("silu_row_bf16", "BF16", "row", "E4M3", 136),
                                                       ("silu_1x128_f16", "F16", "1x128", "E4M3", 200),
                                                       ("silu_i8_row_f32", "F32", "row", "I8", 77))):
        seed = 7750 + i
        g = np.random.default_rng(seed)
        gate, up = (once(g.normal(size=(6, n)) * 2, dtype) for _ in range(2))
        up[1], gate[2, n // 2] = 0, np.nan
        exact = gate * scipy.special.expit(gate) * up
        save_coded("glu", name, f32(exact), form, codes, {"gate": (dtype, gate), "up": (dtype, up)}, {},
                   {"activation": "silu", "round_activation": False}, seed)


def make_rope():
    cases = [  # name, dtype, form, codes, D, R, neighbours
        ("row_bf16", "BF16", "row", "E4M3", 64, 64, False),
        ("i8_row_f32", "F32", "row", "I8", 40, 26, False),
        ("1x128_bf16", "BF16", "1x128", "E4M3", 200, 128, True),
        ("mxfp8_f16", "F16", "mxfp8", "E4M3", 96, 48, True),
    ]
    for i, (name, dtype, form, codes, d, rotary, interleaved) in enumerate(cases):
        seed, tokens, heads = 7820 + i, 4, 3
        g = np.random.default_rng(seed)
        x = once(g.normal(size=(tokens, heads, d)) * 2, dtype)
        x[1, 1], x[2, 0, d // 2] = 0, np.nan
        positions = g.integers(0, 5000, tokens)
        angle = positions[:, None, None] * 10000.0 ** (-2 * np.arange(rotary // 2) / rotary)
        first, second = (np.s_[..., 0:rotary:2], np.s_[..., 1:rotary:2]) if interleaved else (
            np.s_[..., : rotary // 2], np.s_[..., rotary // 2 : rotary])
        exact = x.copy()
        exact[first] = x[first] * np.cos(angle) - x[second] * np.sin(angle)
        exact[second] = x[second] * np.cos(angle) + x[first] * np.sin(angle)
        inputs = {"x": (dtype, x)}
        more = {"positions": ("I64", [tokens], positions.astype("<i8").tobytes())}
        save_coded("rope", name, f32(exact).reshape(-1, d), form, codes, inputs, more,
                   {"theta": 10000.0, "rotary_dim": rotary, "interleaved": interleaved}, seed)


def make_gemm():
    cases = [  # name, dtype, form, codes, N, what follows the product
        ("row_bf16", "BF16", "row", "E4M3", 40, "none"),
        ("e5m2_row_f16", "F16", "row", "E5M2", 33, "silu"),
        ("i8_row_bf16", "BF16", "row", "I8", 36, "gelu_erf"),
        ("1x128_bf16", "BF16", "1x128", "E4M3", 200, "none"),
        ("mxfp8_f16", "F16", "mxfp8", "E4M3", 72, "silu"),
        ("mxfp8_gated_bf16", "BF16", "mxfp8", "E4M3", 144, "silu"),
    ]
    after = {"none": lambda x: x, "silu": lambda x: x * scipy.special.expit(x),
             "gelu_erf": lambda x: x * scipy.special.ndtr(x)}
    for i, (name, dtype, form, codes, n, activation) in enumerate(cases):
        seed, m, k, gated = 7780 + i, 7, 48, "gated" in name
        g = np.random.default_rng(seed)
        a, b, bias = (once(g.normal(size=shape), dtype) for shape in ((m, k), (n, k), n))
        a[1], a[2, 5] = 0, np.nan
        x = 0.5 * (a @ b.T) + bias
        exact = after[activation](x[:, : n // 2]) * x[:, n // 2 :] if gated else after[activation](x)
        args = {"alpha": 0.5, "beta": 0.0, "activation": activation, "a_transposed": False, "b_transposed": False}
        gate = {"limit": 0.0, "interleaved": False, "up_first": False, "gpt_oss": False} if gated else {}
        inputs = {"a": (dtype, a), "b": (dtype, b), "bias": (dtype, bias)}
        save_coded("gemm", name, f32(exact), form, codes, inputs, {}, args | gate, seed)


if __name__ == "__main__":
    assert set(FORMATS) == {"F32", "F16", "BF16"}
    make_norms()
    make_glu()
    make_rope()
    make_gemm()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of gated gemm: NumPy's matmul in float64, then the gate as models have it. swiglu: Llama's
act_fn(gate_proj(x)) * up_proj(x), two matrices one after the other. geglu_up_first: the chunks the other way round, as
T5's and FlashInfer's experts hold them. gpt_oss: GptOssExperts._apply_gate of transformers, [..., ::2] and [..., 1::2],
clamp, 1.702. Needs what make_formats.py needs; nothing of libspark is used."""
import numpy as np
import scipy.special

from make_formats import encode, once, save


def silu(x):
    return x * scipy.special.expit(x)


def swiglu(x):
    gate, up = np.split(x, 2, axis=-1)
    return silu(gate) * up


def geglu_up_first(x):
    up, gate = np.split(x, 2, axis=-1)
    gate = np.minimum(gate, 2)
    return gate * scipy.special.ndtr(gate) * np.clip(up, -2, 2)


def gpt_oss(x):
    gate, up = np.minimum(x[..., ::2], 7), np.clip(x[..., 1::2], -7, 7)
    return (up + 1) * gate * scipy.special.expit(1.702 * gate)


def main():
    m, n, k = 13, 34, 48
    why = "double against double: K * 2^-52 of the sums of both rows, an exponential, a product"
    for i, (name, made, settings) in enumerate([
            ("swiglu", swiglu, {"activation": "silu"}),
            ("geglu_up_first", geglu_up_first, {"activation": "gelu_erf", "up_first": True, "limit": 2.0}),
            ("gpt_oss", gpt_oss, {"activation": "silu", "interleaved": True, "gpt_oss": True, "limit": 7.0})]):
        seed = 5900 + i
        g = np.random.default_rng(seed)
        a, b = once(g.normal(size=(m, k)), "BF16"), once(g.normal(size=(n, k)) / 2, "BF16")
        bias = g.normal(size=n).astype(np.float32)
        d = made(a @ b.T + bias.astype(np.float64))
        tensors = {"a": ("BF16", [m, k], encode(a, "BF16")), "b": ("BF16", [n, k], encode(b, "BF16")),
                   "bias": ("F32", [n], bias.tobytes()), "d": ("BF16", list(d.shape), encode(once(d, "BF16"), "BF16")),
                   "d64": ("F64", list(d.shape), d.tobytes())}
        args = {"alpha": 1.0, "beta": 0.0, "a_transposed": False, "b_transposed": False, "interleaved": False,
                "up_first": False, "gpt_oss": False, "limit": 0.0} | settings
        save("gemm", f"gated_{name}", tensors, args, seed, 2.0**-40, why)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of rope_append: NumPy in float64, pairs as complex numbers that are multiplied by a unit
one, rows of the caches by plain indexing. Needs what make_formats.py needs; nothing of libspark is used."""
import numpy as np

from make_formats import encode, once, save

BY = f"NumPy {np.__version__}, float64"
WHY = "double arithmetic in another order; the oracle's angles are those of long double"


def normed(x, weight, eps, plus_one):
    if weight is None:
        return x
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * (weight + 1 if plus_one else weight)


def turned(x, angles, interleaved):
    """x [T, H, D], angles [T, pairs]"""
    pairs = angles.shape[1]
    head = x[..., :2 * pairs]
    both = head.reshape(*head.shape[:-1], pairs, 2) if interleaved else \
        np.stack([head[..., :pairs], head[..., pairs:]], axis=-1)
    z = (both[..., 0] + 1j * both[..., 1]) * np.exp(1j * angles)[:, None, :]
    parts = np.stack([z.real, z.imag], axis=-1).reshape(head.shape) if interleaved else \
        np.concatenate([z.real, z.imag], axis=-1)
    return np.concatenate([parts, x[..., 2 * pairs:]], axis=-1)


def make(name, dtype, heads, d, rotary, seed, interleaved=False, plus_one=False, norms=True, batch=True, table=False):
    g = np.random.default_rng(seed)
    (queries, keys), t, b, s, eps, theta = heads, 7, 3, 5, 1e-5, 50000.0

    def draw(*shape):
        return once(g.normal(size=shape), dtype)

    q, k, v = draw(t, queries, d), draw(t, keys, d), draw(t, keys, d)
    q_weight, k_weight = (draw(d), draw(d)) if norms else (None, None)
    positions = g.integers(0, 40 if table else 5000, size=t)
    places = g.permutation(b * s)[:t]
    places[2] = -1  # skipped
    angles = positions[:, None] * theta ** (-np.arange(rotary // 2) / (rotary // 2))
    if table:
        turns = np.arange(40)[:, None] * theta ** (-np.arange(rotary // 2) / (rotary // 2))
        turns = once(np.concatenate([np.cos(turns), np.sin(turns)], axis=1), "F32")
        row = turns[positions]
        angles = -1j * np.log(row[:, :rotary // 2] + 1j * row[:, rotary // 2:])
    q_out = turned(normed(q, q_weight, eps, plus_one), angles, interleaved)
    new = turned(normed(k, k_weight, eps, plus_one), angles, interleaved)
    k_before, v_before = draw(b, s, keys, d), draw(b, s, keys, d)
    k_after, v_after = k_before.copy(), v_before.copy()
    for token, place in enumerate(places):
        if place >= 0:
            k_after[place // s, place % s], v_after[place // s, place % s] = new[token], v[token]
    tensors = {key: (dtype, list(x.shape), encode(x, dtype)) for key, x in [
        ("q", q), ("k", k), ("v", v), ("k_before", k_before), ("v_before", v_before), ("q_weight", q_weight),
        ("k_weight", k_weight), ("v_after", v_after)] if x is not None}
    rows = {"slots": places} if not batch else {"slots": np.where(places < 0, -1, places % s), "batch": places // s}
    for key, x in {"positions": positions, **rows}.items():
        tensors[key] = ("I64", [t], x.astype("<i8").tobytes())
    if table:
        tensors["table"] = ("F32", list(turns.shape), encode(turns, "F32"))
    for key, x in [("q_out", q_out), ("k_after", k_after)]:
        tensors |= {key: (dtype, list(x.shape), encode(once(x, dtype), dtype)),
                    f"{key}64": ("F64", list(x.shape), x.tobytes())}
    save("rope_append", name, tensors, {"eps": eps, "theta": theta, "rotary_dim": rotary, "interleaved": interleaved,
                                        "weight_plus_one": plus_one}, seed, 1e-11, WHY, by=BY)


if __name__ == "__main__":
    make("qwen_bf16", "BF16", (4, 1), 64, 64, 7101)
    make("gemma_f16", "F16", (2, 1), 96, 96, 7102, plus_one=True, batch=False)
    make("part_bf16", "BF16", (2, 2), 32, 16, 7103, norms=False, table=True)
    make("pairs_f16", "F16", (3, 1), 48, 40, 7104, interleaved=True)

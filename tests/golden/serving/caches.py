#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of kv_gather and kv_copy, by NumPy's indexing: the bits of elements as integers, so that any
will do.

    python3 -m venv v && v/bin/pip install --require-hashes -r ../requirements/numpy.txt && v/bin/python caches.py
"""
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from sample import write  # noqa: E402  one writer of files


def bits(g, word, shape):
    return g.integers(0, np.iinfo(word).max, shape, dtype=word, endpoint=True)


def keep(op, name, tensors, seed, by):
    write(HERE / f"{op}_{name}", tensors, {
        "op": op, "args": "{}", "seed": str(seed), "made_by": f"NumPy {np.__version__}, {by}",
        "tolerance": "0.0", "tolerance_why": "a copy: bit for bit"})


def gather():
    cases = [("batch_bf16", "BF16", np.uint16, False), ("slots_f32", "F32", np.uint32, True)]
    for i, (name, dtype, word, slots) in enumerate(cases):
        seed = 4200 + i
        g = np.random.default_rng(seed)
        b, s, h, d, tokens = 3, 7, 2, 12, 9
        cache, before = (bits(g, word, shape) for shape in [(b, s, h, d), (tokens, h, d)])
        order = g.integers(0, b * s, tokens)
        order[4] = order[3]  # a row may be taken twice
        after = np.take(cache.reshape(b * s, h, d), order, axis=0)
        skipped = np.array([2, 8])
        after[skipped] = before[skipped]
        tensors = {"before": (dtype, before), "cache": (dtype, cache), "after": (dtype, after)}
        if slots:
            positions = order.astype(np.int64)
        else:
            batch, positions = (part.astype(np.int32) for part in np.divmod(order, s))
            batch[8] = -3
            tensors["batch"] = ("I32", batch)
        positions[2 if not slots else skipped] = -1
        tensors["positions"] = ("I64" if slots else "I32", positions)
        keep("kv_gather", name, tensors, seed, "take")


def copy():
    cases = [("within_bf16", "BF16", np.uint16, 0), ("other_f32", "F32", np.uint32, 4)]
    for i, (name, dtype, word, others) in enumerate(cases):
        seed = 4300 + i
        g = np.random.default_rng(seed)
        b, page = 9, (3, 2, 12)
        cache = bits(g, word, (b, *page))
        order = g.permutation(b)
        to, sources = order[:5], order[5:]
        tensors = {"cache": (dtype, cache)}
        source = cache
        if others:
            source, sources = bits(g, word, (others, *page)), np.arange(others)
            tensors["source"] = (dtype, source)
        pairs = np.stack([g.choice(sources, 5), to], axis=1)
        pairs[1, 0], pairs[3, 1] = -1, b  # one is skipped, one is refused
        moved = pairs[[0, 2, 4]]
        after = cache.copy()
        after[moved[:, 1]] = source[moved[:, 0]]
        tensors["pairs"] = ("I64", pairs.astype(np.int64)) if others else ("I32", pairs.astype(np.int32))
        tensors["after"] = (dtype, after)
        keep("kv_copy", name, tensors, seed, "indexed assignment")


def main():
    gather()
    copy()


if __name__ == "__main__":
    main()

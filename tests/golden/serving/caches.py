#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of kv_gather, by NumPy's indexing: the bits of elements as integers, so that any will do.

    python3 -m venv v && v/bin/pip install --require-hashes -r ../requirements/numpy.txt && v/bin/python caches.py
"""
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from sample import write  # noqa: E402  one writer of files


def main():
    cases = [("batch_bf16", "BF16", np.uint16, False), ("slots_f32", "F32", np.uint32, True)]
    for i, (name, dtype, word, slots) in enumerate(cases):
        seed = 4200 + i
        g = np.random.default_rng(seed)
        b, s, h, d, tokens = 3, 7, 2, 12, 9
        cache, before = (g.integers(0, np.iinfo(word).max, shape, dtype=word, endpoint=True)
                         for shape in [(b, s, h, d), (tokens, h, d)])
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
        write(HERE / f"kv_gather_{name}", tensors, {
            "op": "kv_gather", "args": "{}", "seed": str(seed), "made_by": f"NumPy {np.__version__}, take",
            "tolerance": "0.0", "tolerance_why": "a copy: bit for bit"})


if __name__ == "__main__":
    main()

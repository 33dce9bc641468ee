#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of sample, from an implementation in NumPy that shares nothing with libspark.

    python3 -m venv v && v/bin/pip install --require-hashes -r requirements/numpy.txt && v/bin/python sample.py

Softmax, sort, cumulative sums and searchsorted in float64; Philox4x32-10 on Python's integers, held here to the vectors
published with it (Random123, tests/kat_vectors). Draws within 1e-5 of a boundary, where float64 and other arithmetic
may differ, are not taken: the offset moves on. The files are safetensors, written by hand.
"""
import json
import pathlib
import struct

import numpy as np

HERE = pathlib.Path(__file__).parent
WORD = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & WORD, (a >> 32) ^ c[3] ^ k[1], a & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
assert philox([WORD] * 4, [WORD] * 2) == [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]


def drawn(seed, offset, row):
    words = philox([offset & WORD, offset >> 32, row, 0], [seed & WORD, seed >> 32])
    return (words[0] + (words[1] << 32)) / 2.0**64


def choose(logits, u, temperature, top_k, top_p, min_p):
    """The token, and how near the draw and the end of top-p are to a boundary."""
    if temperature == 0:
        return int(np.argmax(logits)), 1.0
    w = np.exp((logits - logits.max()) / temperature)
    order = np.argsort(-logits, kind="stable")
    margin = 1.0
    if 0 < top_k < len(w):
        order = order[:top_k]
    if 0 < top_p < 1:
        share = np.cumsum(w[order]) / w[order].sum()
        margin = np.abs(share - top_p).min()
        order = order[:np.searchsorted(share, top_p) + 1]
    if min_p > 0:
        margin = min(margin, np.abs(w[order] - min_p).min())
        order = order[w[order] >= min_p]
    kept = np.sort(order)
    share = np.cumsum(w[kept]) / w[kept].sum()
    return int(kept[np.searchsorted(share, u, side="right")]), min(margin, np.abs(share[:-1] - u).min(initial=1.0))


def write(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for key, (dtype, array) in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[key] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = path.with_suffix(".safetensors")
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    assert path.stat().st_size <= 64 * 1024, path
    print(f"{path.name:44} {path.stat().st_size:6} bytes")


def main():
    cases = [  # name, dtype, rows, V, scale, temperature, top_k, top_p, min_p
        ("greedy_f16", "F16", 8, 1000, 2, 0.0, 0, 0.0, 0.0),
        ("temperature_f32", "F32", 12, 997, 2, 0.8, 0, 0.0, 0.0),
        ("top_k_bf16", "BF16", 12, 1000, 3, 1.0, 40, 0.0, 0.0),
        ("top_p_f32", "F32", 12, 997, 3, 1.0, 0, 0.875, 0.0),
        ("top_k_top_p_f16", "F16", 12, 1000, 3, 0.75, 50, 0.9375, 0.0),
        ("min_p_f32", "F32", 12, 500, 3, 1.5, 0, 0.0, 0.0625),
        ("all_bf16", "BF16", 12, 1000, 3, 1.25, 100, 0.9375, 0.03125),
    ]
    for i, (name, dtype, rows, v, scale, temperature, top_k, top_p, min_p) in enumerate(cases):
        random = np.random.Generator(np.random.PCG64(5000 + i))
        x = (random.standard_normal((rows, v)) * scale).astype(np.float32)
        stored = x
        if dtype == "F16":
            stored = x.astype(np.float16)
            x = stored.astype(np.float32)
        elif dtype == "BF16":
            stored = (x.view(np.uint32) >> 16).astype(np.uint16)
            x = (stored.astype(np.uint32) << 16).view(np.float32)
        seed, offset = int(random.integers(2**63)), int(random.integers(2**40))
        while True:
            chosen = [choose(x[r].astype(np.float64), drawn(seed, offset, r), temperature, top_k, top_p, min_p)
                      for r in range(rows)]
            if min(margin for _, margin in chosen) > 1e-5:
                break
            offset += 1
        ids = np.array([token for token, _ in chosen], np.int32)
        args = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p,
                "seed": str(seed), "offset": str(offset)}
        write(HERE / f"sample_{name}", {"logits": (dtype, stored), "ids": ("I32", ids)},
              {"op": "sample", "args": json.dumps(args), "seed": str(5000 + i),
               "made_by": f"NumPy {np.__version__}, float64", "tolerance": "0.0",
               "tolerance_why": "tokens; no draw is within 1e-5 of a boundary"})


if __name__ == "__main__":
    main()

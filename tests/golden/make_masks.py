#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of attention whose masks are more than causal. Set up and run as make_formats.py.

SciPy in float64, over a matrix of what each query sees that follows the mask's own definition: same chunk, same
document, prefix or causal. The numbers that libspark takes for it are told beside, not used. Metadata as in make.py.
"""
import numpy as np
import scipy.special
from make_formats import encode, once, save

QUERIES, KEYS, D = 12, 30, 16
WHY = "double against double: sums of 16 products, an exponential; values below 8"


def numbers(dtype, seed, h, hkv):
    g = np.random.default_rng(seed)
    return (once(g.normal(size=(2, QUERIES, h, D)) * 2, dtype),
            *(once(g.normal(size=(2, KEYS, hkv, D)) * 2, dtype) for _ in range(2)))


def write(name, dtype, seed, qkv, lens, scores_of, seen_of, more, causal):
    """scores_of, seen_of: of the positions p of queries and j of keys, as two axes, in sequence b of n keys."""
    (q, k, v), scale = qkv, 0.25
    h, hkv = q.shape[2], k.shape[2]
    o, lse = np.zeros(q.shape), np.full(q.shape[:3], -np.inf)
    for b, n in enumerate(lens):
        wide = np.repeat(k[b, :n], h // hkv, axis=1), np.repeat(v[b, :n], h // hkv, axis=1)
        p, j = np.arange(QUERIES)[:, None] + n - QUERIES, np.arange(n)[None]
        scores = scores_of(np.einsum("ihd,jhd->hij", q[b], wide[0]) * scale, p, j)
        scores = np.where(seen_of(b, p, j, n), scores, -np.inf)
        some = np.isfinite(scores).any(axis=-1)
        assert some[:, -1].all()
        weights = np.where(some[..., None], scipy.special.softmax(np.where(some[..., None], scores, 0), axis=-1), 0)
        o[b] = np.einsum("hij,jhd->ihd", weights, wide[1])
        lse[b] = scipy.special.logsumexp(scores, axis=-1).T
    tensors = {x: (dtype, list(of.shape), encode(of, dtype)) for x, of in (("q", q), ("k", k), ("v", v))}
    tensors |= {"o": (dtype, list(o.shape), encode(once(o, dtype), dtype)),
                "o64": ("F64", list(o.shape), o.tobytes()), "lse64": ("F64", list(lse.shape), lse.tobytes()),
                "seq_lens": ("I32", [2], np.array(lens, "<i4").tobytes())}
    save("attention", name, tensors | more, {"scale": scale, "causal": causal}, seed, 2.0**-40, WHY)


def keys_of(queries):
    """One I32 for each query of both sequences."""
    return ("I32", [2, QUERIES], np.array(queries, "<i4").tobytes())


def positions(lens):
    return [np.arange(QUERIES) + n - QUERIES for n in lens]


def make_ranges():
    def as_they_are(scores, p, j):
        return scores

    lens = [30, 21]
    chunk = 8
    write("ranges_chunks_bf16", "BF16", 5900, numbers("BF16", 5900, 4, 2), lens, as_they_are,
          lambda b, p, j, n: (j // chunk == p // chunk) & (j <= p),
          {"key_starts": keys_of([[x // chunk * chunk for x in p] for p in positions(lens)])}, True)

    documents = [[0] * 19 + [1] * 4 + [2] * 7, [0] * 7 + [1] * 9 + [2] * 4 + [3]]
    of = [np.array(x) for x in documents]
    write("ranges_documents_f16", "F16", 5901, numbers("F16", 5901, 3, 1), lens, as_they_are,
          lambda b, p, j, n: of[b][p] == of[b][j],
          {"key_starts": keys_of([[documents[b].index(of[b][x]) for x in p] for b, p in enumerate(positions(lens))]),
           "key_ends": keys_of([[documents[b].index(of[b][x]) + documents[b].count(of[b][x]) for x in p]
                                for b, p in enumerate(positions(lens))])}, False)

    prefix = [23, 0]  # of a sequence of 9 keys the first three queries see none
    lens = [30, 9]
    write("ranges_prefix_bf16", "BF16", 5902, numbers("BF16", 5902, 2, 2), lens, as_they_are,
          lambda b, p, j, n: (j < prefix[b]) | (j <= p),
          {"key_ends": keys_of([[max(prefix[b], x + 1) for x in p] for b, p in enumerate(positions(lens))])}, False)


def make_alibi():
    """Of Press et al.: a geometric sequence of slopes, and of six heads the first six of those of eight."""
    for name, dtype, seed, h, hkv in (("causal_bf16", "BF16", 5910, 8, 2), ("heads_6_f16", "F16", 5911, 6, 6)):
        slopes = (2.0 ** (-8 / 8 * np.arange(1, 9)))[:h].astype("<f4")
        write(f"alibi_{name}", dtype, seed, numbers(dtype, seed, h, hkv), [30, 21],
              lambda scores, p, j, of=slopes: scores - of.astype(float)[:, None, None] * np.abs(p - j),
              lambda b, p, j, n: j <= p, {"alibi_slopes": ("F32", [h], slopes.tobytes())}, True)


if __name__ == "__main__":
    make_ranges()
    make_alibi()

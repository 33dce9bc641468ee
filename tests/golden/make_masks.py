#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of attention whose masks are more than causal, or whose caches are FP8.
Set up and run as make_formats.py.

SciPy in float64, over a matrix of what each query sees that follows the mask's own definition: same chunk, same
document, prefix or causal. The numbers that libspark takes for it are told beside, not used. Metadata as in make.py.
"""
import ml_dtypes
import numpy as np
import scipy.special
from make_formats import encode, once, save

QUERIES, KEYS, D = 12, 30, 16
WHY = "double against double: sums of 16 products, an exponential; values below 8"


def numbers(dtype, seed, h, hkv):
    g = np.random.default_rng(seed)
    return (once(g.normal(size=(2, QUERIES, h, D)) * 2, dtype),
            *(once(g.normal(size=(2, KEYS, hkv, D)) * 2, dtype) for _ in range(2)))


def write(name, dtype, seed, qkv, lens, scores_of, seen_of, more, causal, **settings):
    """scores_of, seen_of: of the positions p of queries and j of keys, as two axes, in sequence b of n keys."""
    (q, k, v), scale = qkv, 0.25
    h, hkv = q.shape[2], k.shape[2]
    tensors = {x: (dtype, list(of.shape), encode(of, dtype)) for x, of in (("q", q), ("k", k), ("v", v))}
    if "k_scale" in more:
        codes = [x.astype(ml_dtypes.float8_e4m3fn) for x in (k, v)]
        tensors |= {x: ("F8_E4M3", list(of.shape), of.tobytes()) for x, of in zip("kv", codes)}
        k, v = (of.astype(float) * np.frombuffer(more[f"{x}_scale"][2], "<f4")[0] for x, of in zip("kv", codes))
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
    tensors |= {"o": (dtype, list(o.shape), encode(once(o, dtype), dtype)),
                "o64": ("F64", list(o.shape), o.tobytes()), "lse64": ("F64", list(lse.shape), lse.tobytes()),
                "seq_lens": ("I32", [2], np.array(lens, "<i4").tobytes())}
    save("attention", name, tensors | more, {"scale": scale, "causal": causal} | settings, seed, 2.0**-40, WHY)


def keys_of(queries):
    """One I32 for each query of both sequences."""
    return ("I32", [2, QUERIES], np.array(queries, "<i4").tobytes())


def positions(lens):
    return [np.arange(QUERIES) + n - QUERIES for n in lens]


def as_they_are(scores, p, j):
    return scores


def make_ranges():
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


def words(seen):
    """Rows of bits, the lowest first, in whole words of 64."""
    wide = np.zeros((*seen.shape[:2], -(-seen.shape[2] // 64) * 64), bool)
    wide[..., :seen.shape[2]] = seen
    packed = np.packbits(wide, axis=-1, bitorder="little")
    return ("I64", [*packed.shape[:2], packed.shape[2] // 8], packed.tobytes())


def make_bits():
    """A tree of drafts: its rows by walking from each draft up to its root; then a mask of all keys."""
    lens = [30, 21]
    parents = [[-1, 0, 0, 1, 1, 2, 3, 3, 6, -1, 9, 9], [-1, -1, 0, 1, 1, 3, 2, 6, 6, 4, 9, 10]]
    tree = np.zeros((2, QUERIES, QUERIES), bool)
    for b, up in enumerate(parents):
        for i in range(QUERIES):
            node = i
            while node >= 0:
                tree[b, i, node] = True
                node = up[node]
    write("bits_tree_bf16", "BF16", 5920, numbers("BF16", 5920, 4, 2), lens, as_they_are,
          lambda b, p, j, n: np.concatenate([np.ones((QUERIES, n - QUERIES), bool), tree[b]], axis=1),
          {"key_mask": words(tree)}, False)

    full = np.random.default_rng(5921).random((2, QUERIES, KEYS)) < 0.4
    full[0, 3] = False  # a query that sees nothing
    write("bits_full_f16", "F16", 5921, numbers("F16", 5921, 3, 1), lens, as_they_are,
          lambda b, p, j, n: full[b, :, :n] & (j <= p), {"key_mask": words(full)}, True, mask_first=0)


def make_caches():
    """Codes of E4M3, and a scale for all of k and one for all of v."""
    for dtype, seed in (("BF16", 5920), ("F16", 5921)):
        scales = {f"{x}_scale": ("F32", [1], np.array([s], "<f4").tobytes()) for x, s in (("k", 0.37), ("v", 1.9))}
        write(f"e4m3_{dtype.lower()}", dtype, seed, numbers(dtype, seed, 4, 2), [30, 21],
              lambda scores, p, j: scores, lambda b, p, j, n: j <= p, scales, True)


if __name__ == "__main__":
    make_ranges()
    make_alibi()
    make_bits()
    make_caches()

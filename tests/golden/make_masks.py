#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of attention whose masks are more than causal, with a bias, or of codes and their scales.
Set up and run as make_formats.py.

SciPy in float64, over a matrix of what each query sees that follows the mask's own definition: same chunk, same
document, prefix or causal. The numbers that libspark takes for it are told beside, not used. A bias is broadcast, and
scales are repeated, by NumPy's own rules; codes are read by ml_dtypes. Metadata as in make.py.
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


def write(name, dtype, seed, qkv, lens, scores_of, seen_of, more, causal, bias=0.0, **settings):
    """scores_of, seen_of: of the positions p of queries and j of keys, as two axes, in sequence b of n keys. bias: for
    each sequence, head, query and key, or broadcast. What of q, k and v is stored in another way is in `more`."""
    (q, k, v), scale = qkv, 0.25
    h, hkv = q.shape[2], k.shape[2]
    tensors = {x: (dtype, list(of.shape), encode(of, dtype)) for x, of in zip("qkv", qkv) if x not in more}
    bias = np.broadcast_to(bias, (2, h, QUERIES, KEYS))
    o, lse = np.zeros(q.shape), np.full(q.shape[:3], -np.inf)
    for b, n in enumerate(lens):
        wide = np.repeat(k[b, :n], h // hkv, axis=1), np.repeat(v[b, :n], h // hkv, axis=1)
        p, j = np.arange(QUERIES)[:, None] + n - QUERIES, np.arange(n)[None]
        scores = scores_of(np.einsum("ihd,jhd->hij", q[b], wide[0]) * scale, p, j) + bias[b, :, :, :n]
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


def make_bias():
    """One for each head, as T5 has them; then one for each sequence and key, which hides some, behind a cap."""
    of = once(np.random.default_rng(5930).normal(size=(1, 4, QUERIES, KEYS)) * 3, "BF16")
    write("bias_heads_bf16", "BF16", 5930, numbers("BF16", 5930, 4, 2), [30, 21], as_they_are,
          lambda b, p, j, n: j <= p, {"bias": ("BF16", list(of.shape), encode(of, "BF16"))}, True, of)

    of = np.random.default_rng(5931).normal(size=(2, 1, 1, KEYS)).astype("<f4")
    of[np.random.default_rng(5932).random(of.shape) < 0.4] = -np.inf
    of[..., 12:15] = 0  # seen by the last query of both
    write("bias_keys_softcap_f16", "F16", 5931, numbers("F16", 5931, 3, 1), [30, 21],
          lambda scores, p, j: 5 * np.tanh(scores / 5), lambda b, p, j, n: p >= 0,
          {"bias": ("F32", list(of.shape), of.tobytes())}, False, of.astype(float), softcap=5.0)


FP8 = {"F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2}


def coded(name, numbers_of, kind, scale):
    """Codes of FP8, with scales that repeat along dimensions: as they are stored, and what they say."""
    codes = numbers_of.astype(FP8[kind])
    wide = scale.astype(float)
    for axis in range(scale.ndim if scale.ndim > 1 else 0):
        wide = np.repeat(wide, codes.shape[axis] // scale.shape[axis], axis=axis)
    return ({name: (kind, list(codes.shape), codes.tobytes()),
             f"{name}_scale": ("F32", list(scale.shape), scale.astype("<f4").tobytes())}, codes.astype(float) * wide)


def write_coded(name, dtype, seed, h, hkv, kinds, shapes):
    """kinds, shapes: of q, k, v what codes they are, and of their scales how many there are along each dimension."""
    g = np.random.default_rng(seed + 1000)
    parts = [coded(x, of, kind, (2.0 ** g.uniform(-2, 1, shape)).astype("<f4"))
             for x, of, kind, shape in zip("qkv", numbers(dtype, seed, h, hkv), kinds, shapes)]
    write(name, dtype, seed, [of for _, of in parts], [30, 21], as_they_are, lambda b, p, j, n: j <= p,
          parts[0][0] | parts[1][0] | parts[2][0], True)


def make_codes():
    """Codes of E4M3 below queries of 16 bits, with a scale for all of k and one for all of v; codes everywhere, with
    scales of heads, of heads of a sequence, of tokens; caches of NVFP4."""
    for dtype, seed in (("BF16", 5920), ("F16", 5921)):
        q, k, v = numbers(dtype, seed, 4, 2)
        (stored_k, k), (stored_v, v) = (coded(x, of, "F8_E4M3", np.array([s], "<f4"))
                                        for x, of, s in (("k", k, 0.37), ("v", v, 1.9)))
        write(f"e4m3_{dtype.lower()}", dtype, seed, (q, k, v), [30, 21], as_they_are, lambda b, p, j, n: j <= p,
              stored_k | stored_v, True)
    write_coded("e4m3_heads_bf16", "BF16", 5940, 4, 2, ["F8_E4M3"] * 3, [(1, 1, 4, 1), (1, 1, 2, 1), (2, 1, 2, 1)])
    write_coded("e5m2_tokens_f16", "F16", 5941, 3, 1, ["F8_E5M2", "F8_E4M3", "F8_E5M2"],
                [(1,), (2, KEYS, 1, 1), (2, KEYS, 1, 1)])
    make_nvfp4()
    make_i8()


def make_i8():
    """As in SageAttention: keys of far means become codes of I8 less their mean over the tokens, a scale a token and
    head, as queries do; values stay as they are. The same softmax as that of the keys themselves, to what codes err by,
    and an lse that is less by the scores of the means."""
    dtype, seed, lens = "F16", 5960, [30, 21]
    q, k, v = numbers(dtype, seed, 4, 2)
    k = once(k / 2 + np.random.default_rng(seed + 1000).normal(size=(1, 1, 2, D)) * 6, dtype)
    means = np.stack([k[b, :n].mean(axis=0) for b, n in enumerate(lens)])[:, None]
    stored, read = {}, []
    for x, of in (("q", q), ("k", k - means)):
        scales = (np.abs(of).max(axis=-1, keepdims=True) / 127).astype("<f4")
        codes = np.clip(np.rint(of / scales), -127, 127).astype("i1")
        stored |= {x: ("I8", list(of.shape), codes.tobytes()),
                   f"{x}_scale": ("F32", list(scales.shape), scales.tobytes())}
        read.append(codes.astype(float) * scales.astype(float))
    write("i8_less_mean_f16", dtype, seed, (*read, v), lens, as_they_are, lambda b, p, j, n: j <= p, stored, True)
    for b, n in enumerate(lens):  # what subtracting is for
        wide = [np.repeat(x[b, :n], 2, axis=1) for x in (k, read[1], means[:, :1].repeat(30, axis=1))]
        whole, less, mean = (np.einsum("ihd,jhd->hij", of, x) * 0.25 for of, x in zip((q[b], read[0][b], q[b]), wide))
        shifted = scipy.special.logsumexp(less, axis=-1) + mean[..., 0]
        assert np.abs(scipy.special.softmax(whole, -1) - scipy.special.softmax(less, -1)).max() < 0.05
        assert np.abs(scipy.special.logsumexp(whole, axis=-1) - shifted).max() < 0.1


def make_nvfp4():
    """Blocks of 16 codes, which is a row of a head, low half of a byte first; scales in UE4M3, and one for all. First
    of keys and values alone."""
    g, of = np.random.default_rng(5950), dict(zip("qkv", numbers("BF16", 5950, 4, 2)))
    stored, read = {}, dict(of)
    for x, whole in (("k", 0.75), ("v", 1.25), ("q", 0.5)):
        shape = of[x].shape
        codes = g.integers(0, 16, shape).astype(np.uint8)
        blocks = g.integers(0x28, 0x40, (*shape[:3], 1)).astype(np.uint8)
        stored |= {x: ("U8", [*shape[:3], D // 2], (codes[..., ::2] | codes[..., 1::2] << 4).tobytes()),
                   f"{x}_blocks": ("U8", list(blocks.shape), blocks.tobytes()),
                   f"{x}_scale": ("F32", [1], np.array([whole], "<f4").tobytes())}
        read[x] = (codes.view(ml_dtypes.float4_e2m1fn).astype(float)
                   * blocks.view(ml_dtypes.float8_e4m3fn).astype(float) * whole)
        if x != "k":
            name = "nvfp4_bf16" if x == "v" else "nvfp4_queries_bf16"
            write(name, "BF16", 5950, [read[y] for y in "qkv"], [30, 21], as_they_are, lambda b, p, j, n: j <= p,
                  dict(stored), True)


if __name__ == "__main__":
    make_ranges()
    make_alibi()
    make_bits()
    make_bias()
    make_codes()

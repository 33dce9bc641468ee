#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of attention as models of transformers have it: gpt-oss (sinks, a window), Gemma 2 (a
softcap, a window), Mistral (a window), Llama 4 (chunks), and a tree of drafts as a mask of four dimensions. Set up as
make.py.

What a query sees is asked of transformers' own mask functions, pair by pair; scores, softcap, sinks and softmax are
PyTorch's in float64, compared here with the model's eager_attention_forward, whose softmax may be of FP32. Its window
of W keys has the query's own among them: window_left is W - 1. Metadata as in make.py.
"""
import types

import torch
from transformers import masking_utils
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.mistral import modeling_mistral

from make import TYPES, draw, once, write

SCALE, CAUSAL = 0.25, masking_utils.causal_mask_function
PARENTS = (-1, 0, 0, 1, 1, 2)  # of six drafts


def both(first, second):
    return lambda *place: first(*place) and second(*place)


def windowed(keys):
    return both(CAUSAL, masking_utils.sliding_window_overlay(keys))


def chunked(keys):
    return both(CAUSAL, masking_utils.chunked_overlay(keys, torch.zeros(8, dtype=torch.int64)))


def drafts(queries, keys):
    """Each draft, and those that it follows, and all before the first of them."""
    def sees(_, __, p, j):
        own, other = p - (keys - queries), j - (keys - queries)
        while own > other and own >= 0:
            own = PARENTS[own]
        return other < 0 or own == other
    return sees


def matrix(sees, queries, keys):
    return torch.tensor([[bool(sees(0, 0, i + keys - queries, j)) for j in range(keys)] for i in range(queries)])


def attention(theirs, q, k, v, seen, cap=None, sinks=None):
    """One sequence, in float64: o [S, H, D] and lse [S, H], as the model's eager function has o."""
    groups = q.shape[1] // k.shape[1]
    query, key, value = (x.transpose(0, 1)[None] for x in (q, k, v))
    wide = [x.repeat_interleave(groups, 1) for x in (key, value)]
    scores = query @ wide[0].transpose(2, 3) * SCALE
    if cap:
        scores = cap * torch.tanh(scores / cap)
    hidden = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, float("-inf"))
    columns = [scores + hidden]
    if sinks is not None:
        columns.append(sinks.reshape(1, -1, 1, 1).expand(1, -1, q.shape[0], 1))
    all_of_it = torch.cat(columns, -1)
    o = torch.softmax(all_of_it, -1)[..., :k.shape[0]] @ wide[1]
    module = types.SimpleNamespace(num_key_value_groups=groups, sinks=sinks, training=False)
    more = {"softcap": cap} if cap else {}
    model, _ = theirs(module, query, key, value, hidden[None, None], scaling=SCALE, **more)
    assert torch.allclose(model[0], o[0].transpose(0, 1), rtol=1e-5, atol=1e-5), theirs
    return o[0].transpose(0, 1), torch.logsumexp(all_of_it, -1)[0].transpose(0, 1)


def starts(lens, queries, chunk):
    places = [[i + n - queries for i in range(queries)] for n in lens]
    return torch.tensor([[p - p % chunk for p in row] for row in places], dtype=torch.int32)


def words(lens, queries):
    """A word for each draft: bit n is draft n."""
    rows = [[sum(int(drafts(queries, n)(0, 0, i + n - queries, j + n - queries)) << j for j in range(queries))
             for i in range(queries)] for n in lens]
    return torch.tensor(rows, dtype=torch.int64)[..., None]


def make():
    why = "double against double: sums of 32 products and of the keys, an exponential, a tanh; values below 8"
    lens, queries = [17, 9], 6
    eager = modeling_mistral.eager_attention_forward
    cases = [  # name, dtype, the model's function, what is seen, window_left, softcap, sinks, fields
        ("gpt_oss_bf16", "bf16", modeling_gpt_oss.eager_attention_forward, lambda n: windowed(8), 7, None,
         [0.5, -3.0, 6.0, 2.0], {}),
        ("gemma2_f16", "f16", modeling_gemma2.eager_attention_forward, lambda n: windowed(5), 4, 50.0, None, {}),
        ("mistral_bf16", "bf16", eager, lambda n: windowed(1), 0, None, None, {}),
        ("llama4_f16", "f16", eager, lambda n: chunked(4), None, None, None, {"key_starts": starts(lens, queries, 4)}),
        ("drafts_bf16", "bf16", eager, lambda n: drafts(queries, n), None, None, None,
         {"key_mask": words(lens, queries)}),
    ]
    for i, (name, dtype, theirs, sees, left, cap, given, fields) in enumerate(cases):
        seed, sinks = 5950 + i, torch.tensor(given) if given else None
        gen = torch.Generator().manual_seed(seed)
        q, k, v = (draw(gen, 2, tokens, heads, 32, dtype=TYPES[dtype], scale=2.0)
                   for tokens, heads in ((queries, 4), (max(lens), 2), (max(lens), 2)))
        parts = [attention(theirs, q[b].double(), k[b, :n].double(), v[b, :n].double(), matrix(sees(n), queries, n),
                           cap, sinks.double() if sinks is not None else None) for b, n in enumerate(lens)]
        o, lse = (torch.stack(of) for of in zip(*parts))
        tensors = {"q": q, "k": k, "v": v, "o": once(o, TYPES[dtype]), "o64": o, "lse64": lse,
                   "seq_lens": torch.tensor(lens, dtype=torch.int32), **fields}
        tensors |= {"sinks": sinks} if sinks is not None else {}
        args = {"scale": SCALE, "causal": name != "drafts_bf16"}
        args |= {"softcap": cap} if cap else {}
        args |= {"window_left": left} if left is not None else {}
        write(f"attention_hf_{name}", tensors, "attention", args, seed, 2.0**-40, why)


if __name__ == "__main__":
    torch.set_num_threads(1)
    make()

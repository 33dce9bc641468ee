#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of this folder: inputs and outputs of the operators, from an independent implementation.

    python3 -m venv v && v/bin/pip install --require-hashes -r requirements/torch.txt && v/bin/python make.py

The implementation is PyTorch in double precision on the CPU (torch.matmul, torch.nn.functional.silu, gelu, embedding,
scaled_dot_product_attention with an explicit mask, torch.logsumexp;
rmsnorm and l2norm from torch's elementwise operations). Nothing of libspark is used. The files of rmsnorm and l2norm
are also compared here with what transformers itself computes in FP32 (LlamaRMSNorm: rounds before the weight;
GemmaRMSNorm: 1 + w; Qwen3-Next's l2norm), and l2norm with torch's normalize, which is another function.

A file holds one call: the inputs, `y` or `d` rounded to the output type by PyTorch, and the same in float64 before that
rounding (`y64`, `d64`). Metadata: op, args (JSON), seed, made_by, tolerance (of the float64 tensor), tolerance_why.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
LARGEST = 64 * 1024
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
MADE_BY = f"PyTorch {torch.__version__.split('+')[0]}, float64, CPU"


def draw(generator, *shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape, generator=generator, dtype=torch.float64) * scale).to(dtype)


def once(values, dtype):
    """float64 rounded once to dtype. Tensor.to() goes through float32, so it rounds twice (seen at 0.3309326171...)."""
    precision, min_exponent = {torch.float32: (24, -126), torch.float16: (11, -14), torch.bfloat16: (8, -126)}[dtype]
    exponent = torch.frexp(values)[1].clamp_min(min_exponent + 1) - precision
    result = torch.ldexp(torch.round(torch.ldexp(values, -exponent)), exponent)
    assert torch.equal(result.to(dtype).double(), result)
    return result.to(dtype)


def write(name, tensors, op, args, seed, tolerance, why):
    metadata = {"op": op, "args": json.dumps(args), "seed": str(seed), "made_by": MADE_BY,
                "tolerance": repr(tolerance), "tolerance_why": why}
    path = HERE / f"{name}.safetensors"
    save_file({k: v.contiguous() for k, v in tensors.items()}, str(path), metadata)
    size = path.stat().st_size
    assert size <= LARGEST, f"{path.name}: {size} bytes"
    print(f"{path.name:44} {size:6} bytes")


# ---- rmsnorm -----------------------------------------------------------------------------------------------------
def rmsnorm(x, weight, residual, eps, plus_one, round_before_weight, normalize_rounded):
    dtype = x.dtype
    s = x.double()
    residual_out = None
    if residual is not None:
        s = (x.float() + residual.float()).double()     # FP32 is part of the definition of the fused add
        residual_out = once(s, dtype)
    v = once(s, dtype).double() if normalize_rounded else s
    t = v * torch.rsqrt(v.pow(2).mean(-1, keepdim=True) + eps)
    if round_before_weight:
        t = once(t, dtype).double()
    if weight is not None:
        t = t * (1.0 + weight.double() if plus_one else weight.double())
    return t, residual_out


def compare_with_transformers(x, weight, eps, plus_one, y):
    if plus_one:
        from transformers.models.gemma.modeling_gemma import GemmaRMSNorm as Norm
    else:
        from transformers.models.llama.modeling_llama import LlamaRMSNorm as Norm
    module = Norm(x.shape[-1], eps=eps)
    module.weight.data = weight.clone()
    theirs = module(x).to(x.dtype).double()
    # Theirs sums in FP32: the value before a rounding may fall on the other side of a midpoint. One unit in the last
    # place of y, plus (round before weight) one of t times w: 4 half-units of bf16/f16 relative to y.
    unit = {torch.float32: 2.0**-22, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}[x.dtype]
    worst = ((theirs - y.double()).abs() / y.double().abs().clamp_min(1e-6)).max().item()
    share = (theirs == y.double()).double().mean().item()
    assert worst <= 2 * unit, (worst, unit)
    print(f"    transformers {Norm.__name__}: {share:.2%} bit-equal, worst relative difference {worst:.2e}")


def make_rmsnorm():
    why = "double against double: N additions and a handful of roundings, N * 2^-52 relative to y, N <= 4097"
    cases = [  # name, dtype, weight dtype or None, N, rows, residual, plus_one, round_before, normalize_rounded, eps
        ("hf_llama_bf16", "bf16", "bf16", 256, 8, False, False, True, False, 1e-6),
        ("hf_llama_f16", "f16", "f16", 100, 8, False, False, True, False, 1e-5),
        ("gemma_bf16", "bf16", "bf16", 256, 8, False, True, False, False, 1e-6),
        ("flashinfer_add_bf16", "bf16", "bf16", 320, 6, True, False, False, False, 1e-6),
        ("vllm_add_f16", "f16", "f16", 320, 6, True, False, True, True, 1e-6),
        ("plain_f32", "f32", "f32", 257, 5, False, False, False, False, 1e-5),
        ("no_weight_bf16", "bf16", None, 4097, 1, False, False, False, False, 1e-6),
        ("f32_weight_f16", "f16", "f32", 96, 8, False, False, False, False, 1e-6),
        ("width_one_f32", "f32", "f32", 1, 7, False, False, False, False, 1e-6),
    ]
    for i, (name, dtype, wtype, n, rows, has_residual, plus_one, before, rounded, eps) in enumerate(cases):
        seed = 1000 + i
        g = torch.Generator().manual_seed(seed)
        x = draw(g, rows, n, dtype=TYPES[dtype], scale=3.0)
        weight = draw(g, n, dtype=TYPES[wtype]) if wtype else None
        residual = draw(g, rows, n, dtype=TYPES[dtype]) if has_residual else None
        y64, residual_out = rmsnorm(x, weight, residual, eps, plus_one, before, rounded)
        y = once(y64, TYPES[dtype])
        tensors = {"x": x, "y": y, "y64": y64}
        if weight is not None:
            tensors["weight"] = weight
        if residual is not None:
            tensors |= {"residual": residual, "residual_out": residual_out}
        args = {"eps": eps, "weight_plus_one": plus_one, "round_before_weight": before, "normalize_rounded": rounded}
        write(f"rmsnorm_{name}", tensors, "rmsnorm", args, seed, 4097 * 2.0**-52, why)
        if name.startswith(("hf_llama", "gemma")):
            compare_with_transformers(x, weight, eps, plus_one, y)


# ---- l2norm ------------------------------------------------------------------------------------------------------
def make_l2norm():
    from transformers.models.qwen3_next.modeling_qwen3_next import l2norm as theirs
    why = "y64 is for reading: y is compared bit for bit"
    cases = [  # name, dtype, N, rows, scale of x, eps; the short rows have a length like sqrt(eps) or less
        ("heads_bf16", "bf16", 128, 12, 3.0, 1e-6),
        ("heads_f16", "f16", 96, 8, 1.0, 1e-6),
        ("odd_f32", "f32", 257, 5, 1.0, 1e-6),
        ("short_rows_f32", "f32", 77, 6, 1e-4, 1e-6),
        ("short_rows_bf16", "bf16", 128, 6, 1e-5, 1e-6),
        ("width_one_f16", "f16", 1, 7, 0.01, 1e-4),
    ]
    for i, (name, dtype, n, rows, scale, eps) in enumerate(cases):
        seed = 4000 + i
        g = torch.Generator().manual_seed(seed)
        x = draw(g, rows, n, dtype=TYPES[dtype], scale=scale)
        y64 = x.double() * torch.rsqrt(x.double().pow(2).sum(-1, keepdim=True) + eps)
        y = once(y64, TYPES[dtype])
        write(f"l2norm_{name}", {"x": x, "y": y, "y64": y64}, "l2norm", {"eps": eps}, seed, 0.0, why)
        worst = ((theirs(x.float(), dim=-1, eps=eps).double() - y64).abs() / y64.abs()).max().item()
        assert worst <= 2.0**-20, worst
        clamped = (F.normalize(x.double(), dim=-1, eps=eps) / y64 - 1).abs().max().item()
        assert clamped > 0.01 or "short" not in name, clamped
        print(f"    transformers l2norm: worst relative difference {worst:.2e}; "
              f"torch normalize differs by {clamped:.2e}")


# ---- gemm --------------------------------------------------------------------------------------------------------
def gelu_tanh(v):
    """(1 + tanh(u)) / 2 as sigmoid(2u): PyTorch's own 1 + tanh loses the digits of what is far below 0."""
    y = v * torch.sigmoid(2 * (2 / torch.pi) ** 0.5 * (v + 0.044715 * v**3))
    assert torch.allclose(y, F.gelu(v, approximate="tanh"), rtol=0, atol=1e-13)
    return y


ACTIVATIONS = {"none": lambda v: v, "silu": F.silu, "gelu_erf": F.gelu, "gelu_tanh": gelu_tanh}


def make_gemm():
    why = ("double against double: K * 2^-52 * sum|ab| for the sum and 2^-50 |d| for exp, erf and tanh; "
           "sum|ab| <= 10 K here, K <= 128")
    cases = [  # name, in, out, M, N, K, alpha, beta, bias, activation, a transposed, b transposed
        ("tn_bf16", "bf16", "bf16", 17, 24, 64, 1.0, 0.0, None, "none", False, False),
        ("nn_f16", "f16", "f16", 16, 40, 48, 0.5, 0.0, None, "none", False, True),
        ("nt_bf16_f32", "bf16", "f32", 33, 20, 32, 1.0, 1.0, None, "none", True, True),
        ("tt_f16_f32", "f16", "f32", 12, 28, 40, -1.25, 0.75, "f32", "none", True, False),
        ("silu_bias", "bf16", "bf16", 20, 32, 128, 1.0, 0.0, "bf16", "silu", False, False),
        ("gelu_erf_beta", "f16", "f16", 24, 24, 56, 0.125, 0.5, "f32", "gelu_erf", False, False),
        ("gelu_tanh_f32", "bf16", "f32", 15, 31, 7, 1.0, 0.0, None, "gelu_tanh", False, False),
        ("k_zero", "bf16", "f32", 9, 16, 0, 1.0, 2.0, "f32", "silu", False, False),
    ]
    for i, (name, tin, tout, m, n, k, alpha, beta, bias_type, activation, a_t, b_t) in enumerate(cases):
        seed = 2000 + i
        g = torch.Generator().manual_seed(seed)
        a = draw(g, m, k, dtype=TYPES[tin])
        b = draw(g, n, k, dtype=TYPES[tin])
        tensors = {"a": a.t() if a_t else a, "b": b.t() if b_t else b}  # stored as the layout has them in memory
        d64 = alpha * torch.matmul(a.double(), b.double().t())
        if beta != 0:
            tensors["c"] = draw(g, m, n, dtype=TYPES[tout])
            d64 = d64 + beta * tensors["c"].double()
        if bias_type:
            tensors["bias"] = draw(g, n, dtype=TYPES[bias_type])
            d64 = d64 + tensors["bias"].double()
        d64 = ACTIVATIONS[activation](d64)
        args = {"alpha": alpha, "beta": beta, "activation": activation, "a_transposed": a_t, "b_transposed": b_t}
        tensors |= {"d": once(d64, TYPES[tout]), "d64": d64}
        write(f"gemm_{name}", tensors, "gemm", args, seed, 128 * 2.0**-52 * 1280 + 2.0**-50 * 64, why)


# ---- lora --------------------------------------------------------------------------------------------------------
def make_lora():
    why = "double against double: (K + R) * 2^-52 * sum|x a b|, and sum|x a b| <= 5^3 K R; K <= 64, R <= 16"
    cases = [  # name, dtype, rows, N, K, R, adapters, scale, c
        ("bf16", "bf16", 7, 24, 64, 16, 3, 1.0, True),
        ("f16_written", "f16", 5, 20, 40, 8, 4, -0.5, False),
        ("rank_3_bf16", "bf16", 6, 9, 21, 3, 2, 2.0, True),
    ]
    for i, (name, dtype, m, n, k, rank, adapters, scale, with_c) in enumerate(cases):
        seed = 12000 + i
        g = torch.Generator().manual_seed(seed)
        tensors = {"x": draw(g, m, k, dtype=TYPES[dtype]), "a": draw(g, adapters, rank, k, dtype=TYPES[dtype]),
                   "b": draw(g, adapters, n, rank, dtype=TYPES[dtype])}
        index = torch.randint(0, adapters, (m,), generator=g)
        index[1], index[m - 1] = -1, adapters  # neither is an adapter
        y64 = torch.zeros(m, n, dtype=torch.float64)
        for row, adapter in enumerate(index.tolist()):
            if 0 <= adapter < adapters:  # as a layer has it: lora_B(lora_A(x)) * scaling
                y64[row] = scale * F.linear(F.linear(tensors["x"][row].double(), tensors["a"][adapter].double()),
                                            tensors["b"][adapter].double())
        if with_c:
            tensors["c"] = draw(g, m, n, dtype=TYPES[dtype])
            y64 = y64 + tensors["c"].double()
        tensors |= {"index": index.to(torch.int32), "y": once(y64, TYPES[dtype]), "y64": y64}
        write(f"lora_{name}", tensors, "lora", {"scale": scale}, seed, 80 * 2.0**-52 * 125 * 1024, why)


# ---- embedding ---------------------------------------------------------------------------------------------------
def make_embedding():
    cases = [("bf16", torch.int32, 61, 48), ("f32", torch.int64, 17, 33), ("f16", torch.int64, 5, 1)]
    for i, (dtype, itype, v, d) in enumerate(cases):
        seed = 3000 + i
        g = torch.Generator().manual_seed(seed)
        table = draw(g, v, d, dtype=TYPES[dtype])
        ids = torch.randint(0, v, (3, 7), generator=g).to(itype)
        ids[0, 0], ids[2, 6] = 0, v - 1
        tensors = {"table": table, "ids": ids, "y": F.embedding(ids.long(), table)}
        write(f"embedding_{dtype}_v{v}_d{d}", tensors, "embedding", {}, seed, 0.0, "a copy: bit for bit")


# ---- attention ---------------------------------------------------------------------------------------------------
def attention(q, k, v, scale, causal, sinks=None):
    """One sequence: q [S, H, D], k and v [T, G, D] in float64. The mask is built here, bottom-right aligned: PyTorch's
    is_causal aligns top-left where S and T differ (shown by make_attention). Rows that see nothing are set to 0. Sinks
    [H] are a column of the scores that the softmax has and the sum over values has not."""
    heads = torch.arange(q.shape[1]) * k.shape[1] // q.shape[1]
    q, k, v = q.transpose(0, 1), k[:, heads].transpose(0, 1), v[:, heads].transpose(0, 1)
    queries, keys = q.shape[1], k.shape[1]
    seen = torch.ones(queries, keys, dtype=torch.bool)
    if causal:
        seen = seen.tril(keys - queries)
    scores = (q @ k.transpose(1, 2) * scale).masked_fill(~seen, float("-inf"))
    lse = torch.logsumexp(scores, -1)
    some = seen.any(-1)
    o = torch.zeros_like(q)
    theirs = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=seen, scale=scale)[0]
    o[:, some] = theirs[:, some]
    mine = torch.softmax(scores[:, some], -1) @ v
    assert torch.allclose(mine, o[:, some], rtol=1e-12, atol=1e-13)
    if sinks is not None:
        with_sink = torch.cat([scores, sinks[:, None, None].expand(-1, queries, 1)], -1)
        lse = torch.logsumexp(with_sink, -1)
        o = torch.nan_to_num(torch.softmax(with_sink, -1))[..., :-1] @ v
    return o.transpose(0, 1), lse.transpose(0, 1)


def into_pages(generator, k, v, page):
    """The same keys and values in pages of so many tokens, in a random order, two of them nobody's, and their table.
    torch.index_select reads them back."""
    batch, tokens = k.shape[:2]
    entries = -(-tokens // page)
    table = torch.randperm(batch * entries + 2, generator=generator)[:batch * entries].reshape(batch, entries)
    out = {"block_table": table.to(torch.int32)}
    for name, x in (("k", k), ("v", v)):
        pages = draw(generator, batch * entries + 2, page, *x.shape[2:], dtype=x.dtype)
        padded = F.pad(x, (0, 0, 0, 0, 0, entries * page - tokens))
        pages[table.flatten()] = padded.reshape(batch * entries, page, *x.shape[2:])
        back = torch.index_select(pages, 0, table.flatten()).reshape(batch, entries * page, *x.shape[2:])
        assert torch.equal(back[:, :tokens], x)
        out[name] = pages
    return out


def make_attention():
    why = ("double against double: sums of D and of the keys, an exponential, a logarithm: (D + keys + 16) * 2^-52 "
           "relative to scores below 64 and values below 8; D + keys <= 320")
    tolerance = 336 * 2.0**-52 * 64 * 8
    cases = [  # name, dtype, queries, keys of each sequence, H, G, D, causal, scale (0: default), sinks
        ("dense_bf16", "bf16", 5, [13, 20], 4, 2, 64, False, 0.0),
        ("causal_square_f16", "f16", 16, [16], 2, 2, 40, True, 0.0),
        ("causal_chunk_bf16", "bf16", 5, [21, 5], 4, 1, 32, True, 0.0),
        ("causal_masked_rows_bf16", "bf16", 12, [4, 0], 2, 1, 32, True, 0.0),
        ("decode_f16", "f16", 1, [40, 23], 4, 2, 80, True, 0.0),
        ("scale_one_bf16", "bf16", 7, [11], 3, 3, 32, False, 1.0),
        ("heads_5_of_3_f16", "f16", 4, [9], 5, 3, 32, False, 0.0),
        ("sinks_bf16", "bf16", 6, [17, 9], 4, 2, 32, False, 0.0, [0.5, -3.0, 6.0, 40.0]),
        ("sinks_masked_rows_f16", "f16", 9, [5, 0], 3, 1, 40, True, 0.0, [1.25, float("-inf"), -2.0]),
        ("pages_bf16", "bf16", 1, [37, 12, 16], 4, 2, 32, True, 0.0, None, 16),
        ("pages_prefill_f16", "f16", 6, [21, 9], 4, 1, 40, True, 0.0, None, 5),
    ]
    for i, (name, dtype, queries, lens, h, g, d, causal, scale, *given) in enumerate(cases):
        sinks = torch.tensor(given[0], dtype=torch.float32) if given and given[0] else None
        page = given[1] if len(given) > 1 else None
        seed = 4000 + i
        gen = torch.Generator().manual_seed(seed)
        most = max(lens)
        q = draw(gen, len(lens), queries, h, d, dtype=TYPES[dtype])
        k = draw(gen, len(lens), most, g, d, dtype=TYPES[dtype])
        v = draw(gen, len(lens), most, g, d, dtype=TYPES[dtype])
        used = scale if scale else d ** -0.5
        parts = [attention(q[b].double(), k[b, :n].double(), v[b, :n].double(), used, causal,
                           sinks.double() if sinks is not None else None)
                 for b, n in enumerate(lens)]
        o64, lse64 = torch.stack([o for o, _ in parts]), torch.stack([lse for _, lse in parts])
        if causal and queries != most:  # the trap: what is_causal would have given is something else
            b = 0
            top_left = F.scaled_dot_product_attention(
                *(t[b].double()[:lens[b], torch.arange(h) * t.shape[2] // h].transpose(0, 1)[None] if t is not q else
                  t[b].double().transpose(0, 1)[None] for t in (q, k, v)), is_causal=True, scale=used)
            assert not torch.allclose(top_left[0].transpose(0, 1), o64[b])
        tensors = {"q": q, "k": k, "v": v, "o": once(o64, TYPES[dtype]), "o64": o64, "lse64": lse64,
                   "seq_lens": torch.tensor(lens, dtype=torch.int32), **({"sinks": sinks} if sinks is not None else {})}
        if page:
            tensors |= into_pages(gen, k, v, page)
        write(f"attention_{name}", tensors, "attention", {"scale": used, "causal": causal}, seed, tolerance, why)


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_rmsnorm()
    make_l2norm()
    make_gemm()
    make_lora()
    make_embedding()
    make_attention()
    sys.exit(0)

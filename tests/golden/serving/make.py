#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes this folder's golden vectors, from implementations that share nothing with libspark.

    python3 -m venv v && v/bin/pip install --require-hashes -r ../requirements/torch.txt && v/bin/python make.py

rope: transformers' apply_rotary_pos_emb of Llama (half-split) and of GPT-J (interleaved), in float64.
kv_append: PyTorch's indexed assignment.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from make import LARGEST, TYPES, draw, once  # noqa: E402  one way to draw and to round


def write(name, tensors, op, args, seed, made_by, tolerance, why):
    metadata = {"op": op, "args": json.dumps(args), "seed": str(seed), "made_by": made_by,
                "tolerance": repr(tolerance), "tolerance_why": why}
    path = HERE / f"{name}.safetensors"
    save_file({k: v.contiguous() for k, v in tensors.items()}, str(path), metadata)
    assert path.stat().st_size <= LARGEST, path.name
    print(f"{path.name:44} {path.stat().st_size:6} bytes")


# ---- rope --------------------------------------------------------------------------------------------------------
def turn(x, cos, sin, interleaved):
    """x [T, H, R], cos and sin [T, R/2], through transformers. All float64."""
    if interleaved:
        from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb
        return apply_rotary_pos_emb(x[None], sin[None], cos[None])[0]
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
    whole = [torch.cat((v, v), -1)[None] for v in (cos, sin)]
    q = x.transpose(0, 1)[None]  # [1, H, T, R]
    return apply_rotary_pos_emb(q, q, *whole)[0][0].transpose(0, 1)


def make_rope():
    import transformers
    made_by = f"transformers {transformers.__version__}, float64, CPU"
    why = ("double against long double: an angle of at most 2^21 turns off by 2^-52 of it, 2^-30; times sqrt(2) |x|, "
           "|x| < 16; tables: a few roundings of double")
    cases = [  # name, dtype, heads, D, R, theta, interleaved, positions dtype, largest position, table dtype
        ("llama_bf16", "bf16", 3, 64, 64, 10000.0, False, torch.int64, 2048, None),
        ("llama3_f16", "f16", 2, 128, 128, 500000.0, False, torch.int32, 8192, None),
        ("gptj_bf16", "bf16", 3, 64, 64, 10000.0, True, torch.int64, 2048, None),
        ("gptj_partial_f32", "f32", 2, 96, 32, 10000.0, True, torch.int64, 2048, None),
        ("neox_partial_f32", "f32", 2, 80, 20, 10000.0, False, torch.int32, 2048, None),
        ("far_f32", "f32", 1, 128, 128, 1e6, False, torch.int64, 2**21, None),
        ("table_bf16", "bf16", 3, 64, 48, 10000.0, False, torch.int64, 30, "f32"),
        ("table_same_f16", "f16", 3, 64, 64, 10000.0, True, torch.int32, 30, "f16"),
    ]
    for i, (name, dtype, heads, d, r, theta, interleaved, ptype, top, ttype) in enumerate(cases):
        seed = 4000 + i
        g = torch.Generator().manual_seed(seed)
        x = draw(g, 7, heads, d, dtype=TYPES[dtype])
        positions = torch.randint(0, top, (7,), generator=g).to(ptype)
        rates = theta ** (-torch.arange(0, r, 2, dtype=torch.float64) / r)
        angles = positions.double()[:, None] * rates
        cos, sin = angles.cos(), angles.sin()
        tensors = {"x": x, "positions": positions}
        if ttype:
            every = torch.arange(top).double()[:, None] * rates
            table = torch.cat((every.cos(), every.sin()), -1)
            tensors["table"] = once(table, TYPES[ttype])
            cos, sin = tensors["table"].double()[positions.long()].split(r // 2, -1)
        y64 = torch.cat((turn(x.double()[..., :r], cos, sin, interleaved), x.double()[..., r:]), -1)
        tensors |= {"y": once(y64, TYPES[dtype]), "y64": y64}
        args = {"rotary_dim": r, "theta": theta, "interleaved": interleaved}
        write(f"rope_{name}", tensors, "rope", args, seed, made_by, 2.0**-25 if ttype is None else 2.0**-45, why)


# ---- kv_append ---------------------------------------------------------------------------------------------------
def make_kv_append():
    made_by = f"PyTorch {torch.__version__.split('+')[0]}, index_put, CPU"
    for i, (name, dtype, slots) in enumerate([("batch_bf16", "bf16", False), ("slots_f32", "f32", True)]):
        seed = 4100 + i
        g = torch.Generator().manual_seed(seed)
        b, s, h, d, tokens = 3, 7, 2, 12, 9
        order = torch.randperm(b * s, generator=g)[:tokens]
        k, before = draw(g, tokens, h, d, dtype=TYPES[dtype]), draw(g, b, s, h, d, dtype=TYPES[dtype])
        tensors = {"k": k, "before": before}
        if slots:
            positions = order.clone()
            positions[2] = -1  # skipped
            after = before.clone().view(b * s, h, d)
            after[positions[positions >= 0]] = k[positions >= 0]
            tensors |= {"positions": positions, "after": after.view(b, s, h, d)}
        else:
            tensors |= {"batch": (order // s).int(), "positions": (order % s).int()}
            after = before.clone()
            after[order // s, order % s] = k
            tensors["after"] = after
        write(f"kv_append_{name}", tensors, "kv_append", {}, seed, made_by, 0.0, "a copy: bit for bit")


if __name__ == "__main__":
    torch.set_num_threads(1)
    make_rope()
    make_kv_append()

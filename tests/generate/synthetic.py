#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Writes a small model as GGUF, the same bytes every time: a Llama of two layers with random weights and a vocabulary of
# bytes and a few merges. For tests that must run without the real model, and, damaged on purpose, for those of errors.
# usage: synthetic.py OUT.gguf
#
# synthetic.txt is its reference: examples/generate/reference/reference.py OUT.gguf --tokens 24 \
#     --prompt 'the thing and 12 (x)' --prompt $'<|im_start|>user\nSing the other  anthem\u00e9!<|im_end|>\n'
import random
import struct
import sys
from pathlib import Path

F32, F16, Q4_0, Q4_1, Q8_0 = 0, 1, 2, 3, 8
U32, I32, REAL, TEXT, ARRAY = 4, 5, 6, 8, 9
LAYERS, WIDTH, HEADS, GROUPS, INNER, CONTEXT = 2, 128, 4, 2, 192, 96
MERGES = ["t h", "th e", "\u0120 the", "i n", "in g", "\u0120 a", "\u0120a n", "\u0120an d", "e r", "\u0120 ("]


def alphabet():
    """The printable spelling of each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def values():
    """The keys, each with its type and value."""
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *alphabet(), *(m.replace(" ", "") for m in MERGES)]
    kinds = [3] * 3 + [1] * (len(tokens) - 3)
    return {
        "general.architecture": (TEXT, "llama"), "llama.block_count": (U32, LAYERS),
        "llama.context_length": (U32, CONTEXT), "llama.embedding_length": (U32, WIDTH),
        "llama.feed_forward_length": (U32, INNER), "llama.attention.head_count": (U32, HEADS),
        "llama.attention.head_count_kv": (U32, GROUPS), "llama.attention.layer_norm_rms_epsilon": (REAL, 1e-5),
        "tokenizer.ggml.model": (TEXT, "gpt2"), "tokenizer.ggml.pre": (TEXT, "smollm"),
        "tokenizer.ggml.tokens": (ARRAY, TEXT, tokens), "tokenizer.ggml.token_type": (ARRAY, I32, kinds),
        "tokenizer.ggml.merges": (ARRAY, TEXT, MERGES), "tokenizer.ggml.eos_token_id": (U32, 2),
        "tokenizer.chat_template": (TEXT, "{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}"),
    }


def records(kind, rows, columns, size, chance):
    """Random weights of about this size."""
    if kind == F32:
        return b"".join(struct.pack("<f", chance.uniform(0.5, 1.5)) for _ in range(rows * columns))
    out = []
    for _ in range(rows * columns // 32):
        step = size * chance.uniform(0.5, 1.5)
        if kind == Q8_0:
            out.append(struct.pack("<e", step / 64) + bytes(chance.getrandbits(8) for _ in range(32)))
        else:
            out.append(struct.pack("<ee", step / 4, -7.5 * step / 4) + bytes(chance.getrandbits(8) for _ in range(16)))
    return b"".join(out)


def tensors():
    """Name -> [type, (rows, columns), bytes], a norm having one row."""
    chance = random.Random(1)
    vocabulary, key = 3 + 256 + len(MERGES), WIDTH // HEADS * GROUPS
    shapes = {"token_embd": (Q8_0, vocabulary, WIDTH, 1.0), "output": (Q4_1, vocabulary, WIDTH, 0.3),
              "output_norm": (F32, 1, WIDTH, 1)}
    for i in range(LAYERS):
        for name, kind, rows, columns, size in (
                ("attn_norm", F32, 1, WIDTH, 1), ("attn_q", Q4_1, WIDTH, WIDTH, 0.15),
                ("attn_k", Q4_1, key, WIDTH, 0.15), ("attn_v", Q8_0, key, WIDTH, 0.1),
                ("attn_output", Q4_1, WIDTH, WIDTH, 0.1), ("ffn_norm", F32, 1, WIDTH, 1),
                ("ffn_gate", Q4_1, INNER, WIDTH, 0.1), ("ffn_up", Q4_1, INNER, WIDTH, 0.1),
                ("ffn_down", Q4_1, WIDTH, INNER, 0.1)):
            shapes[f"blk.{i}.{name}"] = (kind, rows, columns, size)
    return {f"{name}.weight": [kind, (rows, columns), records(kind, rows, columns, size, chance)]
            for name, (kind, rows, columns, size) in shapes.items()}


def text(string):
    data = string.encode()
    return struct.pack("<Q", len(data)) + data


def item(kind, value):
    return text(value) if kind == TEXT else struct.pack({U32: "<I", I32: "<i", REAL: "<f"}[kind], value)


def build(keys, parts, alignment=32):
    """The file, and how many bytes stand before the tensors' data."""
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(parts), len(keys))
    for key, (kind, *value) in keys.items():
        head += text(key) + struct.pack("<I", kind)
        if kind == ARRAY:
            element, elements = value
            head += struct.pack("<IQ", element, len(elements)) + b"".join(item(element, e) for e in elements)
        else:
            head += item(kind, value[0])
    body = b""
    for name, (kind, (rows, columns), data) in parts.items():
        shape = (columns,) if rows == 1 else (columns, rows)
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += data + bytes(-len(data) % alignment)
    head += bytes(-len(head) % alignment)
    return head + body, len(head)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(build(values(), tensors())[0])

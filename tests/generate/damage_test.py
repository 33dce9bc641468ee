#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# spark-generate on files and requests that it must refuse: the exit code, and that the sentence names what is wrong.
# usage: damage_test.py SPARK-GENERATE FOLDER; the files are made from synthetic.py in FOLDER.
import struct
import subprocess
import sys
from pathlib import Path

from synthetic import F16, F32, Q4_0, Q4_1, TEXT, U32, build, tensors, values

PARTS = tensors()


def changed(key=None, value=None, *, tensor=None, parts=None):
    """The file with a key set (None: taken out), and tensors replaced (None: taken out)."""
    keys, all_parts = values(), {**PARTS, **(parts or {})}
    if key:
        keys.pop(key, None)
        keys.update({key: value} if value else {})
    if tensor:
        del all_parts[tensor]
    return build(keys, all_parts)[0]


def retyped(name, kind, size):
    return changed(parts={name: [kind, PARTS[name][1], bytes(PARTS[name][1][0] * PARTS[name][1][1] * size // 32)]})


WHOLE, HEAD = build(values(), PARTS)
FILES = {  # name: (bytes, what the sentence must hold)
    "empty": (b"", "empty"),
    "other magic": (b"GGML" + WHOLE[4:], "no GGUF file"),
    "version 1": (WHOLE[:4] + struct.pack("<I", 1) + WHOLE[8:], "version 1 is not supported"),
    "other byte order": (WHOLE[:4] + struct.pack(">I", 3) + WHOLE[8:], "is not supported"),
    "too many tensors": (WHOLE[:8] + struct.pack("<Q", 1 << 60) + WHOLE[16:], "do not fit"),
    "cut in the head": (WHOLE[:HEAD // 2], "the file ends in"),
    "cut in the data": (WHOLE[:-1000], "the file ends in tensor"),
    "another architecture": (changed("general.architecture", (TEXT, "qwen2")), "architecture qwen2 is not supported"),
    "no architecture": (changed("general.architecture"), "does not say general.architecture"),
    "no layer count": (changed("llama.block_count"), "does not say llama.block_count"),
    "heads that do not divide": (changed("llama.attention.head_count_kv", (U32, 3)), "do not go together"),
    "scaled angles": (changed("llama.rope.scaling.type", (TEXT, "yarn")), "llama.rope.scaling is not supported"),
    "experts": (changed("llama.expert_count", (U32, 8)), "mixture of 8 experts"),
    "another tokenizer": (changed("tokenizer.ggml.model", (TEXT, "llama")), "tokenizer model llama is not supported"),
    "another pre-tokenizer": (changed("tokenizer.ggml.pre", (TEXT, "qwen2")), "pre-tokenizer qwen2 is not supported"),
    "a missing tensor": (changed(tensor="blk.1.ffn_up.weight"), "tensor blk.1.ffn_up.weight is missing"),
    "a missing embedding": (changed(tensor="token_embd.weight"), "tensor token_embd.weight is missing"),
    "a tensor too many": (changed(parts={"blk.0.attn_q.bias": PARTS["output_norm.weight"]}), "has 22 tensors"),
    "a tensor of another size": (changed(parts={"blk.0.attn_q.weight": PARTS["blk.0.ffn_up.weight"]}), "is 192 x 128"),
    "a matrix of another type": (retyped("blk.0.attn_q.weight", Q4_0, 18), "blk.0.attn_q.weight is Q4_0"),
    "a matrix that is F16": (retyped("blk.1.ffn_down.weight", F16, 64), "blk.1.ffn_down.weight is F16"),
    "a norm that is Q4_1": (retyped("output_norm.weight", Q4_1, 20), "output_norm.weight is Q4_1"),
    "a matrix that is F32": (retyped("blk.0.attn_v.weight", F32, 128), "blk.0.attn_v.weight is F32"),
}
REQUESTS = {  # name: (options, exit code, what the sentence must hold)
    "no model": (["--prompt", "x"], 2, "--model is missing"),
    "an unknown option": (["--modle", "x"], 2, "--modle is no option"),
    "a number that is none": (["--max-tokens", "ten"], 2, "takes a number from"),
    "a temperature below zero": (["--temperature", "-1"], 2, "takes a number from"),
    "a prompt that is too long": (["--prompt", "x" * 100], 1, "too long"),
    "a prompt too long for a small context": (["--context", "8", "--prompt", "abcdef"], 1, "a context of 8 tokens"),
    "an answer too long for the context": (["--raw", "--prompt", "abc", "--context", "6", "--max-tokens", "9",
                                            "--ignore-end"], 1, "the context is full: it holds 6 tokens"),
    "no such reference": (["--check", "no-such-file"], 1, "no-such-file cannot be read"),
}


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0

    def refused(name, options, code, sentence):
        nonlocal wrong
        result = subprocess.run([program, *options], capture_output=True, text=True, errors="replace", timeout=120)
        if result.returncode != code or sentence not in result.stderr:
            wrong += 1
            print(f"{name}: exit code {result.returncode} for {code}, no '{sentence}' in:\n{result.stderr}")

    for name, (data, sentence) in FILES.items():
        path = folder / f"{name.replace(' ', '-')}.gguf"
        path.write_bytes(data)
        refused(name, ["--model", path], 1, sentence)
        path.unlink()
    refused("no file", ["--model", folder / "none.gguf"], 1, "No such file")
    refused("a folder", ["--model", folder], 1, "no file")
    good = folder / "good.gguf"
    good.write_bytes(WHOLE)
    for name, (options, code, sentence) in REQUESTS.items():
        refused(name, options if name == "no model" else ["--model", good, *options], code, sentence)
    print(f"{len(FILES) + len(REQUESTS) + 2} refusals, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A language model in Python over libspark: reads a GGUF file of Llama layout (Q4_1, Q8_0, F32), prefills a prompt,
and generates greedily with one recorded graph a token. It needs the packages gguf and tokenizers.

    generate.py MODEL.gguf [--prompt TEXT] [--tokens N] [--chat]
"""
import argparse
import time
from typing import Any, Dict, Iterator, List

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from libspark import Context, DeviceArray, Dtype, Records, Stream, ops

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
SPECIAL = (3, 4)  # kinds of tokens in the file: control, user-defined


def read_tokenizer(file: Any) -> Any:
    """Byte-level BPE, from the vocabulary and merges of the file."""
    tokens = file.fields["tokenizer.ggml.tokens"].contents()
    kinds = file.fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(merge.split(" ")) for merge in file.fields["tokenizer.ggml.merges"].contents()]
    made = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False)
                             for token, kind in zip(tokens, kinds) if kind in SPECIAL])
    return made


class Model:
    """Weights and caches on the device, and the operators of a forward pass."""

    def __init__(self, file: Any, stream: Stream, context: int) -> None:
        self.stream, self.context = stream, context
        self.tensors = {tensor.name: tensor for tensor in file.tensors}
        of = {name[len("llama."):]: field.contents() for name, field in file.fields.items() if name[:6] == "llama."}
        self.width, self.inner = of["embedding_length"], of["feed_forward_length"]
        self.heads, self.groups = of["attention.head_count"], of["attention.head_count_kv"]
        self.head = of.get("attention.key_length", self.width // self.heads)
        self.eps = of["attention.layer_norm_rms_epsilon"]
        self.rope = {"theta": of.get("rope.freq_base", 10000.0), "interleaved": True,  # as GGUF keeps Q and K
                     "rotary_dim": of.get("rope.dimension_count", self.head)}
        self.embedding = self.matrix("token_embd")
        self.output = self.matrix("output") if "output.weight" in self.tensors else self.embedding
        self.last_norm = self.vector("output_norm")
        self.layers = [self.layer(f"blk.{i}.") for i in range(of["block_count"])]
        self.counting = self.put(np.arange(context + 1), Dtype.I64)  # positions and lengths are read from here
        self.lengths = self.put(np.arange(context + 1), Dtype.I32)
        self.refused = self.room(1, dtype=Dtype.I32)

    def put(self, values: Any, dtype: Dtype) -> DeviceArray:
        return DeviceArray.from_numpy(values, dtype, stream=self.stream)

    def room(self, *shape: int, dtype: Dtype = Dtype.BF16) -> DeviceArray:
        return DeviceArray.zeros(shape, dtype, stream=self.stream)

    def vector(self, name: str) -> DeviceArray:
        return self.put(self.tensors[name + ".weight"].data, Dtype.F32)

    def matrix(self, *names: str) -> DeviceArray:
        """Matrices below each other, expanded into BF16 on the device."""
        parts = [self.tensors[name + ".weight"] for name in names]
        made = self.room(sum(int(part.shape[1]) for part in parts), int(parts[0].shape[0]))
        row = 0
        for part in parts:
            rows = int(part.shape[1])
            records = self.put(np.asarray(part.data).reshape(rows, -1), Dtype.U8)
            ops.dequantize(Records(records, part.tensor_type.name), y=made[row:row + rows])
            row += rows
        return made

    def layer(self, at: str) -> Dict[str, DeviceArray]:
        cache = (1, self.context, self.groups, self.head)
        return {"attn_norm": self.vector(at + "attn_norm"), "ffn_norm": self.vector(at + "ffn_norm"),
                "qkv": self.matrix(at + "attn_q", at + "attn_k", at + "attn_v"),
                "out": self.matrix(at + "attn_output"), "gates": self.matrix(at + "ffn_gate", at + "ffn_up"),
                "down": self.matrix(at + "ffn_down"), "keys": self.room(*cache), "values": self.room(*cache)}

    def forward(self, step: "Step") -> None:
        """The tokens in step.ids through the model; the token that follows the last of them becomes step.next."""
        q, heads = self.heads, self.heads + self.groups
        ops.embedding(self.embedding, step.ids, y=step.x, zero_invalid=True)
        for layer in self.layers:
            ops.rmsnorm(step.x, layer["attn_norm"], y=step.h, eps=self.eps)
            ops.gemm(step.h, layer["qkv"], d=step.qkv.reshape(step.count, -1))
            turned = step.qkv[:, :heads]  # queries and keys
            ops.rope(step.positions, turned, y=turned, **self.rope)
            ops.kv_append(step.qkv[:, q:heads], step.qkv[:, heads:], step.positions, layer["keys"], layer["values"],
                          self.refused)
            ops.attention(step.qkv[None, :, :q], layer["keys"], layer["values"], seq_lens=step.keys, o=step.mixed,
                          causal=True)
            ops.gemm(step.mixed.reshape(step.count, -1), layer["out"], step.x, d=step.x, beta=1)
            ops.rmsnorm(step.x, layer["ffn_norm"], y=step.h, eps=self.eps)
            ops.gemm(step.h, layer["gates"], d=step.gates)
            gate, up = step.gates[:, :self.inner], step.gates[:, self.inner:]
            ops.glu(gate, up, y=gate, activation="silu")
            ops.gemm(gate, layer["down"], step.x, d=step.x, beta=1)
        ops.rmsnorm(step.x[-1:], self.last_norm, y=step.h[-1:], eps=self.eps)
        ops.gemm(step.h[-1:], self.output, d=step.logits)
        ops.sample(step.logits, ids=step.next)


class Step:
    """What a forward pass of `count` tokens reads and writes. Positions and lengths lie in device memory, so that a
    recorded step serves for every token."""

    def __init__(self, model: Model, count: int) -> None:
        room, self.count = model.room, count
        self.ids, self.next = room(count, dtype=Dtype.I32), room(1, dtype=Dtype.I32)
        self.positions, self.keys = room(count, dtype=Dtype.I64), room(1, dtype=Dtype.I32)
        self.x, self.h = room(count, model.width), room(count, model.width)
        self.qkv = room(count, model.heads + 2 * model.groups, model.head)
        self.mixed = room(1, count, model.heads, model.head)
        self.gates = room(count, 2 * model.inner)
        self.logits = room(1, model.embedding.shape[0], dtype=Dtype.F32)

    def place(self, model: Model, position: int) -> None:
        """Says where its tokens stand; nothing waits."""
        end = position + self.count
        self.positions.copy_from(model.counting[position:end])
        self.keys.copy_from(model.lengths[end:end + 1])


def generate(model: Model, prompt: List[int], count: int) -> Iterator[int]:
    """The most likely tokens, one after the other."""
    if len(prompt) + count > model.context:
        raise ValueError(f"{len(prompt)} and {count} tokens do not fit: the context holds {model.context}")
    step = Step(model, len(prompt))
    step.ids.write(prompt)
    step.place(model, 0)
    model.forward(step)
    yield int(step.next.numpy()[0])

    one = Step(model, 1)
    one.next = one.ids  # what a step chooses is what the next one reads
    one.ids.copy_from(step.next)
    for position in range(len(prompt), len(prompt) + count - 1):
        one.place(model, position)
        if position == len(prompt):
            model.forward(one)  # also loads the code, which a capture does not
            with model.stream.capture() as graph:
                model.forward(one)
        else:
            graph.launch()
        yield int(one.ids.numpy()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompt", default="The capital of France is")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--chat", action="store_true", help="put the prompt into the form of a chat")
    parser.add_argument("--ids", action="store_true", help="print the numbers of the tokens")
    options = parser.parse_args()
    file = gguf.GGUFReader(options.model)
    tokenizer = read_tokenizer(file)
    prompt = tokenizer.encode(CHAT.format(options.prompt) if options.chat else options.prompt).ids
    model = Model(file, Stream(Context()), context=len(prompt) + options.tokens)
    began, ids = time.perf_counter(), []
    for token in generate(model, prompt, options.tokens):
        ids.append(token)
        if not options.ids:
            print(tokenizer.decode([token], skip_special_tokens=False), end="", flush=True)
    seconds = time.perf_counter() - began
    print(*(ids if options.ids else ()))
    print(f"{len(ids)} tokens in {seconds:.1f} s on {model.stream.ctx.info.name}")


if __name__ == "__main__":
    main()

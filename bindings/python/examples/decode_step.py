#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One decode step of a small transformer layer, captured in a graph and replayed: each replay appends a token to the
caches of two sequences. The first step also runs without the graph, and must give the same bits.

LIBSPARK_DRIVER=emu on a computer without a GPU.
"""
from typing import List

import numpy as np
import numpy.typing as npt

from libspark import Context, DeviceArray, Dtype, Stream, ops

SEQUENCES = 2
HIDDEN = 64
HEADS = 2  # of queries; one head of keys and values serves both
HEAD = 32
QKV = (HEADS + 2) * HEAD
INNER = 96  # behind the gate; the projection before it has twice as many
VOCABULARY = 128
ROWS = 16  # of a sequence in the cache
STEPS = 4


def numbers(seed: int, count: int) -> npt.NDArray[np.float32]:
    """Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10."""
    values, state = [], seed
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        values.append(((state >> 24) - 128) / 1024)
    return np.array(values, "f4")


class Layer:
    """The weights, and what a step reads and writes."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.norm = self.weight(np.ones(HIDDEN, "f4"), HIDDEN)
        self.qkv_weight = self.weight(numbers(1, QKV * HIDDEN), QKV, HIDDEN)
        self.inner_weight = self.weight(numbers(2, 2 * INNER * HEADS * HEAD), 2 * INNER, HEADS * HEAD)
        self.logits_weight = self.weight(numbers(3, VOCABULARY * INNER), VOCABULARY, INNER)

        self.x = self.room(SEQUENCES, HIDDEN)
        self.h = self.room(SEQUENCES, HIDDEN)
        self.qkv = self.room(SEQUENCES, HEADS + 2, HEAD)
        self.keys = self.room(SEQUENCES, ROWS, 1, HEAD)
        self.values = self.room(SEQUENCES, ROWS, 1, HEAD)
        self.mixed = self.room(SEQUENCES, 1, HEADS, HEAD)
        self.gates = self.room(SEQUENCES, 2 * INNER)
        self.inner = self.room(SEQUENCES, INNER)
        self.logits = self.room(SEQUENCES, VOCABULARY, dtype=Dtype.F32)
        self.tokens = self.room(SEQUENCES, dtype=Dtype.I32)
        self.positions = self.room(SEQUENCES, dtype=Dtype.I32)  # of the new tokens
        self.lengths = self.room(SEQUENCES, dtype=Dtype.I32)  # with them
        self.draws = self.room(SEQUENCES, dtype=Dtype.U64)  # which of the seed's random numbers
        self.sequence = DeviceArray.from_numpy(np.arange(SEQUENCES), Dtype.I32, stream=stream)
        self.invalid = self.room(1, dtype=Dtype.I32)

    def weight(self, values: npt.NDArray[np.float32], *shape: int) -> DeviceArray:
        return DeviceArray.from_numpy(values.reshape(shape), Dtype.BF16, stream=self.stream)

    def room(self, *shape: int, dtype: Dtype = Dtype.BF16) -> DeviceArray:
        return DeviceArray.zeros(shape, dtype, stream=self.stream)

    def feed(self, tokens: List[int], step: int) -> None:
        """Puts the tokens of a step in: what they are and where they stand."""
        self.x.write(np.stack([numbers(1000 + token, HIDDEN) for token in tokens]))
        for array, value in ((self.positions, step), (self.draws, step), (self.lengths, step + 1)):
            array.write(np.full(SEQUENCES, value))

    def enqueue(self) -> None:
        """The operators of a step, in order."""
        ops.rmsnorm(self.x, self.norm, y=self.h, eps=1e-5)
        ops.gemm(self.h, self.qkv_weight, d=self.qkv.reshape(SEQUENCES, QKV))
        turned = self.qkv[:, :HEADS + 1]  # queries and keys are neighbours in a row of the projection
        ops.rope(self.positions, turned, y=turned)
        ops.kv_append(self.qkv[:, HEADS:HEADS + 1], self.qkv[:, HEADS + 1:], self.positions, self.keys, self.values,
                      self.invalid, batch=self.sequence)
        ops.attention(self.qkv[:, None, :HEADS], self.keys, self.values, o=self.mixed, seq_lens=self.lengths)
        ops.gemm(self.mixed.reshape(SEQUENCES, HEADS * HEAD), self.inner_weight, d=self.gates)
        ops.glu(self.gates[:, :INNER], self.gates[:, INNER:], y=self.inner, activation="silu")
        ops.gemm(self.inner, self.logits_weight, d=self.logits)
        ops.sample(self.logits, ids=self.tokens, offsets=self.draws, temperature=0.8, top_k=20, seed=42)


def main() -> None:
    ctx = Context()
    layer = Layer(Stream(ctx))

    # Once without a graph: this also loads the code, which a capture does not.
    tokens = [5, 77]
    layer.feed(tokens, 0)
    layer.enqueue()
    direct = layer.logits.numpy()

    with layer.stream.capture() as graph:
        layer.enqueue()
    for step in range(STEPS):
        layer.feed(tokens, step)
        graph.launch()
        if step == 0 and layer.logits.numpy().tobytes() != direct.tobytes():
            raise SystemExit("the graph gives other bits")
        tokens = layer.tokens.numpy().tolist()
        print(f"step {step}: tokens {tokens}")
    if layer.invalid.numpy().any():
        raise SystemExit("a token has no row in the cache")

    total = 0xcbf29ce484222325  # FNV-1a over the bits of the last logits: on one device the same in every language
    for byte in layer.logits.numpy().tobytes():
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    print(f"logits {total:016x}")
    print(f"on {ctx.info.name}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
#
# A Llama in double precision, from the definition: the convention is Hugging Face's (half-split rotary pairs), so that
# the order in which a GGUF file keeps the rows of Q and K is undone here and not taken for granted.
# `stored` imitates where a BF16 implementation rounds, `cached` what a cache of fewer bits does: their
# distance from the exact run is the scale of honest errors.
import numpy as np


def exact(x):
    return x


def to_bf16(x, up=0.5):
    """Rounded to eight significant bits: to nearest with up = 0.5, else up with probability given by an array."""
    bits = np.asarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    least = (bits >> 16) & 1 if np.isscalar(up) else np.uint64(0)
    bits += np.uint64(0x7fff) + least if np.isscalar(up) else (up * 0x10000).astype(np.uint64)
    return ((bits >> 16 << 16).astype(np.uint32)).view(np.float32).astype(np.float64)


def to_e4m3(x, up=0.5):
    """Rounded to four significant bits, or to a multiple of 2^-9, up to 448: as to_bf16."""
    size = np.minimum(np.abs(x), 448.0)
    step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(size, 2.0**-9))), -6) - 3)
    units = np.rint(size / step) if np.isscalar(up) else np.floor(size / step + up)
    return np.copysign(np.minimum(units * step, 448.0), x)


class Nearest:
    """Rounds every stored value to BF16, or to the type of a cache."""

    def __init__(self, to=to_bf16):
        self.to = to

    def __call__(self, x):
        return self.to(x)


class Stochastic:
    """Rounds up or down by chance, in proportion: another sample of the same errors with each seed."""

    def __init__(self, seed, to=to_bf16):
        self.to, self.chance = to, np.random.default_rng(seed)

    def __call__(self, x):
        x = np.asarray(x)
        return self.to(x, self.chance.random(x.shape, dtype=np.float32))


def half_split(rows, heads):
    """Rows of Q or K as Hugging Face orders them; in the file the pairs (i, i + D/2) of a head are neighbours."""
    outputs, width = rows.shape
    return rows.reshape(heads, outputs // heads // 2, 2, width).swapaxes(1, 2).reshape(outputs, width)


def rms(x, weight, eps):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


class Llama:
    def __init__(self, file, stored=exact, cached=exact):
        v = file.values
        assert v["general.architecture"] == "llama"
        self.round, self.cached = stored, cached
        self.layers = v["llama.block_count"]
        self.heads = v["llama.attention.head_count"]
        self.groups = v.get("llama.attention.head_count_kv", self.heads)
        self.eps = v["llama.attention.layer_norm_rms_epsilon"]
        self.width = v["llama.embedding_length"] // self.heads
        self.rates = v.get("llama.rope.freq_base", 10000.0) ** (-np.arange(0, self.width, 2) / self.width)
        weight = (lambda name: to_bf16(file.tensor(name))) if stored is not exact else file.tensor
        self.embedding = weight("token_embd.weight")
        self.head = weight("output.weight") if "output.weight" in file.tensors else self.embedding
        self.last = file.tensor("output_norm.weight")
        self.blocks = []
        for i in range(self.layers):
            part = {name: weight(f"blk.{i}.{name}.weight") for name in
                    ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")}
            part["attn_q"] = half_split(part["attn_q"], self.heads)
            part["attn_k"] = half_split(part["attn_k"], self.groups)
            for name in ("attn_norm", "ffn_norm"):
                part[name] = file.tensor(f"blk.{i}.{name}.weight")
            self.blocks.append(part)
        self.forget()

    def forget(self):
        """An empty cache."""
        self.keys, self.values = [[None] * self.layers for _ in range(2)]
        self.position = 0

    def rotate(self, x, positions):
        angle = np.concatenate([np.outer(positions, self.rates)] * 2, axis=1)[:, None, :]
        first, second = np.split(x, 2, axis=-1)
        return x * np.cos(angle) + np.concatenate([-second, first], axis=-1) * np.sin(angle)

    def attend(self, block, i, x, positions):
        n, stored = len(x), self.round
        q = stored(x @ block["attn_q"].T).reshape(n, self.heads, self.width)
        k = stored(x @ block["attn_k"].T).reshape(n, self.groups, self.width)
        v = stored(x @ block["attn_v"].T).reshape(n, self.groups, self.width)
        q, k = stored(self.rotate(q, positions)), stored(self.rotate(k, positions))
        k, v = self.cached(k), self.cached(v)
        if self.keys[i] is not None:
            k, v = np.concatenate([self.keys[i], k]), np.concatenate([self.values[i], v])
        self.keys[i], self.values[i] = k, v
        shared = self.heads // self.groups
        scores = np.einsum("nhd,mhd->hnm", q, np.repeat(k, shared, axis=1)) / np.sqrt(self.width)
        hidden = np.arange(len(k))[None, :] > positions[:, None]
        scores[:, hidden] = -np.inf
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        return stored(np.einsum("hnm,mhd->nhd", p, np.repeat(v, shared, axis=1))).reshape(n, -1)

    def step(self, ids, rows=1):
        """Appends tokens; the logits after the last ones."""
        stored = self.round
        x = self.embedding[np.asarray(ids)]
        positions = np.arange(self.position, self.position + len(ids))
        self.position += len(ids)
        for i, block in enumerate(self.blocks):
            h = stored(rms(x, block["attn_norm"], self.eps))
            x = stored(x + self.attend(block, i, h, positions) @ block["attn_output"].T)
            h = stored(rms(x, block["ffn_norm"], self.eps))
            gate, up = stored(h @ block["ffn_gate"].T), stored(h @ block["ffn_up"].T)
            x = stored(x + stored(gate / (1 + np.exp(-gate)) * up) @ block["ffn_down"].T)
        return stored(rms(x[-rows:], self.last, self.eps)) @ self.head.T

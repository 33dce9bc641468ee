#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of activation, glu, add and layernorm: exact values, rounded once.

    python3 -m venv v && v/bin/pip install --require-hashes -r requirements/mpmath.txt && v/bin/python make_exact.py

The implementation is mpmath with 400 bits: exp, erf and tanh to far more digits than a double has, so that nothing is
lost where 1 + erf and 1 + tanh cancel. Infinity and NaN are as PyTorch evaluates the definitions: NaN for -infinity,
but 0 in the ReLUs. Nothing of libspark is used.

A file holds one call: inputs, and `y` rounded once to the type. Metadata as in make.py.
"""
import json
import pathlib
import random
import struct

import mpmath
from mpmath import mpf

HERE = pathlib.Path(__file__).parent
LARGEST = 64 * 1024
FORMATS = {"F32": (24, -126, 127), "F16": (11, -14, 15), "BF16": (8, -126, 127)}  # bits, least and largest exponent
MADE_BY = f"mpmath {mpmath.__version__}, 400 bits"
NAN, INF = mpf("nan"), mpf("inf")
mpmath.mp.prec = 400


def once(v, dtype):
    """v rounded once, to nearest even."""
    bits, least, largest = FORMATS[dtype]
    if mpmath.isnan(v) or mpmath.isinf(v) or v == 0:
        return v
    quantum = mpf(2) ** (max(mpmath.frexp(v)[1] - 1, least) - bits + 1)
    result = mpmath.nint(v / quantum) * quantum
    return result if abs(result) < mpf(2) ** (largest + 1) else mpmath.sign(v) * INF


def encode(values, dtype):
    floats = [float(once(v, dtype)) for v in values]
    if dtype == "F16":
        return b"".join(struct.pack("<e", v) for v in floats)
    words = [struct.pack("<f", v) for v in floats]
    return b"".join(word[2:] if dtype == "BF16" else word for word in words)


def save(name, tensors, op, args, seed):
    """The safetensors format by hand: 8 bytes of header length, JSON, data. tensors: name: (dtype, shape, values)."""
    header = {"__metadata__": {"op": op, "args": json.dumps(args), "seed": str(seed), "made_by": MADE_BY,
                               "tolerance": "0.0", "tolerance_why": "exact values: y is compared bit for bit"}}
    data = b""
    for key, (dtype, shape, values) in tensors.items():
        part = encode(values, dtype)
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = struct.pack("<Q", len(text)) + text + data
    assert len(content) <= LARGEST, name
    (HERE / f"{name}.safetensors").write_bytes(content)
    print(f"{name:44} {len(content):6} bytes")


def sigmoid(v):
    return 1 / (1 + mpmath.exp(-v))


FUNCTIONS = {
    "none": lambda v: v,
    "silu": lambda v: v * sigmoid(v),
    "gelu_erf": lambda v: v * (1 + mpmath.erf(v / mpmath.sqrt(2))) / 2,
    "gelu_tanh": lambda v: v * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (v + mpf("0.044715") * v ** 3))) / 2,
    "relu": lambda v: max(v, mpf(0)),
    "relu_squared": lambda v: max(v, mpf(0)) ** 2,
}


def act(name, v):
    if mpmath.isnan(v):
        return NAN
    if mpmath.isinf(v) and name != "none":
        return v if v > 0 else mpf(0) if "relu" in name else NAN
    if abs(v) > 1000 and "elu" in name:  # far beyond the last bit of any format; erf and tanh need not be asked
        v = mpf(v)
        return (v ** 2 if name == "relu_squared" else v) if v > 0 else mpf(0)
    return FUNCTIONS[name](v)


def times(a, b):
    zero_times_infinity = (a == 0 and mpmath.isinf(b)) or (b == 0 and mpmath.isinf(a))
    return NAN if zero_times_infinity else a * b


def draw(g, dtype, count, scale):
    return [once(mpf(g.gauss(0, scale)), dtype) for _ in range(count)]


def strange(dtype):
    """What a formula may get wrong: zeros, the ends of the range, the tails below 0. Not the smallest number: half of
    it and a little more is a tie in double precision."""
    bits, least, largest = FORMATS[dtype]
    tiny, huge = mpf(2) ** (least - bits + 2), (2 - mpf(2) ** (1 - bits)) * mpf(2) ** largest
    tails = (-0.5, -1, -2, -4, -5.5, -6, -8, -9.75, -10, -12, -13, -13.25, -20, -60, -80, 6, 30, 1e4, -1e4)
    return [mpf(0), tiny, -tiny, huge, -huge, INF, -INF, NAN] + [once(mpf(v), dtype) for v in tails]


def layernorm(v, weight, bias, eps):
    mean = mpmath.fsum(v) / len(v)
    r = 1 / mpmath.sqrt(mpmath.fsum((x - mean) ** 2 for x in v) / len(v) + eps)
    return [(x - mean) * r * w + b for x, w, b in zip(v, weight, bias)]


def make_layernorm():
    cases = [  # name, dtype, dtypes of weight and bias or None, N, rows, mean of x, residual, rounded sum, eps
        ("both_bf16", "BF16", "BF16", "BF16", 96, 6, 0, False, False, 1e-5),
        ("both_f32", "F32", "F32", "F32", 257, 4, 0.5, False, False, 1e-5),
        ("f32_columns_f16", "F16", "F32", "F32", 64, 6, 0, False, False, 1e-5),
        ("no_bias_bf16", "BF16", "BF16", None, 80, 6, 0, False, False, 1e-6),
        ("neither_f16", "F16", None, None, 77, 5, 0, False, False, 1e-5),
        ("far_mean_f32", "F32", "F32", "F32", 128, 5, 1000, False, False, 1e-5),
        ("add_bf16", "BF16", "BF16", "BF16", 64, 6, 0, True, False, 1e-5),
        ("add_rounded_bf16", "BF16", "BF16", "BF16", 64, 6, 0, True, True, 1e-5),
        ("width_one_f16", "F16", "F16", "F16", 1, 7, 0, False, False, 1e-5),
    ]
    for i, (name, dtype, wtype, btype, n, rows, mean, add, rounded, eps) in enumerate(cases):
        g = random.Random(6000 + i)
        x = [once(v + mean, dtype) for v in draw(g, dtype, rows * n, 2)]
        weight, bias = draw(g, wtype or dtype, n, 1), draw(g, btype or dtype, n, 1)
        residual = draw(g, dtype, rows * n, 2)
        v = [once(a + b, "F32") for a, b in zip(x, residual)] if add else x  # FP32 is part of the definition
        tensors = {"x": (dtype, [rows, n], x)}
        tensors |= {"weight": (wtype, [n], weight)} if wtype else {}
        tensors |= {"bias": (btype, [n], bias)} if btype else {}
        if add:
            tensors |= {"residual": (dtype, [rows, n], residual), "residual_out": (dtype, [rows, n], v)}
        v = [once(a, dtype) for a in v] if rounded else v
        w, b = weight if wtype else [1] * n, bias if btype else [0] * n
        y = [e for row in range(rows) for e in layernorm(v[row * n:(row + 1) * n], w, b, mpf(struct.unpack(
            "<f", struct.pack("<f", eps))[0]))]
        save(f"layernorm_{name}", tensors | {"y": (dtype, [rows, n], y)}, "layernorm",
             {"eps": eps, "normalize_rounded": rounded}, 6000 + i)


def make_pointwise():
    seed = 5000

    def write(name, dtype, tensors, op, args):
        save(name, {key: (dtype, [len(values)], values) for key, values in tensors.items()}, op, args, seed)

    for name in FUNCTIONS:
        for dtype in FORMATS:
            seed += 1
            x = strange(dtype) + draw(random.Random(seed), dtype, 200, 4)
            y = [act(name, v) for v in x]
            write(f"activation_{name}_{dtype.lower()}", dtype, {"x": x, "y": y}, "activation", {"activation": name})
    for name, dtype, before in [("silu", "BF16", False), ("silu", "BF16", True), ("silu", "F16", True),
                                ("gelu_tanh", "BF16", False), ("gelu_erf", "F16", True), ("gelu_erf", "F32", False),
                                ("relu_squared", "BF16", True), ("none", "F16", False)]:
        seed += 1
        g = random.Random(seed)
        gate = draw(g, dtype, 300, 3) + [INF, -INF, NAN, mpf(0), mpf(2)]
        up = draw(g, dtype, 300, 2) + [mpf(1), mpf(1), mpf(1), INF, -INF]
        t = [act(name, v) for v in gate]
        t = [once(v, dtype) for v in t] if before else t
        write(f"glu_{name}_{'rounded_' if before else ''}{dtype.lower()}", dtype,
              {"gate": gate, "up": up, "y": [times(a, b) for a, b in zip(t, up)]}, "glu",
              {"activation": name, "round_activation": before})
    for i, (dtype, cap) in enumerate([("F32", 30), ("BF16", 30), ("F16", 0.5)]):
        x = strange(dtype) + draw(random.Random(5500 + i), dtype, 200, 4 * cap)
        y = [v if mpmath.isnan(v) else cap * mpmath.tanh(v / cap) for v in x]
        save(f"activation_softcap_{dtype.lower()}", {"x": (dtype, [len(x)], x), "y": (dtype, [len(y)], y)},
             "activation", {"activation": "softcap", "cap": cap}, 5500 + i)
    for dtype in FORMATS:
        seed += 1
        g = random.Random(seed)
        a = draw(g, dtype, 300, 3) + [INF, INF, NAN, mpf(1)]
        b = [v for scale in (3, 2.0**-6, 64) for v in draw(g, dtype, 100, scale)] + [-INF, mpf(1), mpf(1), mpf(-1)]
        sums = [NAN if mpmath.isinf(p) and p == -q else once(p + q, "F32") for p, q in zip(a, b)]
        write(f"add_{dtype.lower()}", dtype, {"a": a, "b": b, "y": sums}, "add", {})


if __name__ == "__main__":
    make_pointwise()
    make_layernorm()

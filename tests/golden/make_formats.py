#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of dequantize, cast and amax, where every result is exact before one rounding, of quantize,
of softmax and hadamard, and of gemm over codes, with scales of their blocks too, and records.

    python3 -m venv v && v/bin/pip install --require-hashes -r requirements/numpy.txt
    v/bin/python make_formats.py

dequantize: NumPy in double precision, compared here with what the gguf package's own dequantize gives in FP32. cast:
astype of NumPy, and of ml_dtypes where bfloat16 is concerned. amax: NumPy's maximum. quantize: float32 of NumPy, then
ml_dtypes, whose NVFP4 files hold the scales in tiles and the numbers read back too. softmax: scipy.special in
float64. hadamard: scipy.linalg.hadamard, a product of matrices in float64. gemm: ml_dtypes' float8_e4m3fn, or
integers, to float64, matmul, scales; of records the numbers of dequantize, matmul. Nothing of libspark is used. A
file holds the records or elements `x` and the results: `y` (of softmax and hadamard also in float64, `y64`) or, of
cast, one for each type; those of gemm are as in make.py. Metadata as there.
"""
import json
import pathlib
import struct

import gguf
import ml_dtypes
import numpy as np
import scipy.linalg
import scipy.special

HERE = pathlib.Path(__file__).parent
LARGEST = 64 * 1024
MADE_BY = {"dequantize": f"NumPy {np.__version__}, float64",
           "cast": f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}",
           "amax": f"NumPy {np.__version__}",
           "quantize": f"NumPy {np.__version__}, float32, ml_dtypes {ml_dtypes.__version__}",
           "softmax": f"SciPy {scipy.__version__}, float64",
           "hadamard": f"SciPy {scipy.__version__}, float64",
           "attention": f"SciPy {scipy.__version__}, float64",
           "merge_states": f"SciPy {scipy.__version__}, float64",
           "gemm": f"NumPy {np.__version__}, float64, ml_dtypes {ml_dtypes.__version__}"}
FORMATS = {"F32": (24, -126, 127), "F16": (11, -14, 15), "BF16": (8, -126, 127)}  # bits, least and largest exponent


def once(values, dtype):
    """float64 rounded once, to nearest even."""
    bits, least, largest = FORMATS[dtype]
    quantum = np.maximum(np.frexp(values)[1] - 1, least) - bits + 1
    with np.errstate(invalid="ignore"):
        result = np.ldexp(np.rint(np.ldexp(values, -quantum)), quantum)
        result = np.where(np.abs(result) >= 2.0 ** (largest + 1), np.copysign(np.inf, values), result)
    return np.where(np.isfinite(values), result, values)


def encode(values, dtype):
    if dtype == "F16":
        return values.astype("<f2").tobytes()
    words = values.astype("<f4").view("<u4")
    return (words >> 16).astype("<u2").tobytes() if dtype == "BF16" else words.tobytes()


def save(op, name, tensors, args, seed, tolerance=0.0, why="exact values: y is compared bit for bit", by=None):
    """The safetensors format by hand: 8 bytes of header length, JSON, data. NumPy has no bfloat16."""
    name = f"{op}_{name}"
    header = {"__metadata__": {"op": op, "args": json.dumps(args), "seed": str(seed), "made_by": by or MADE_BY[op],
                               "tolerance": repr(tolerance), "tolerance_why": why}}
    data = b""
    for key, (dtype, shape, part) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    content = struct.pack("<Q", len(text)) + text + data
    assert len(content) <= LARGEST, name
    (HERE / f"{name}.safetensors").write_bytes(content)
    print(f"{name:44} {len(content):6} bytes")


# ---- records -----------------------------------------------------------------------------------------------------
Q8_0 = np.dtype([("d", "<f2"), ("q", "i1", 32)])
Q4_1 = np.dtype([("d", "<f2"), ("m", "<f2"), ("b", "u1", 16)])
RECORDS = 40
# d, m: NaN, infinity, zeros of either sign, subnormals, overflow of F16, and sums that FP32 takes for a midpoint of
# BF16 (1 + 2^-8, beside it by 2^-24) or of F16 (3 + 3 * 2^-10, with codes of 3)
STRANGE = [(np.nan, 1), (1, np.nan), (np.inf, 1), (-0.0, -0.0), (-1, -0.0), (2.0**-24, 2.0**-23), (-3 * 2.0**-20, 0),
           (65504, 65504), (-30000, 1), (2.0**-24, 1 + 2.0**-8), (-2.0**-24, 1 + 2.0**-8), (1 + 2.0**-10, 2.0**-24),
           (1 + 2.0**-10, -2.0**-24)]


def draw(layout, generator):
    records = np.zeros(RECORDS, layout)
    raw = generator.integers(0, 256, RECORDS * layout.itemsize, dtype=np.uint8)
    records[:] = raw.view(layout)
    records["d"] = generator.normal(size=RECORDS) / 64
    records["d"][: len(STRANGE)] = [d for d, _ in STRANGE]
    if layout is Q4_1:
        records["m"] = generator.normal(size=RECORDS)
        records["m"][: len(STRANGE)] = [m for _, m in STRANGE]
        records["b"][len(STRANGE) - 2 : len(STRANGE), ::2] = 0x33
    records["q" if layout is Q8_0 else "b"][3:5, ::3] = 0
    return records


def numbers(records):
    d = records["d"].astype(np.float64)[:, None]
    with np.errstate(invalid="ignore"):
        if records.dtype == Q8_0:
            return d * records["q"].astype(np.float64)
        low, high = records["b"] & 15, records["b"] >> 4
        return d * np.concatenate([low, high], axis=1) + records["m"].astype(np.float64)[:, None]


def compare_with_gguf(records, kind, exact):
    with np.errstate(all="ignore"):
        theirs = gguf.dequantize(records.view(np.uint8).reshape(len(records), -1), kind)
    ours = once(exact, "F32").astype(np.float32)
    same = (theirs.view(np.uint32) == ours.view(np.uint32)) | (np.isnan(theirs) & np.isnan(ours))
    assert same.all(), np.argwhere(~same)
    print(f"    gguf {kind.name}: {same.size} elements equal")


def make_dequantize():
    types = gguf.GGMLQuantizationType
    for i, (layout, kind) in enumerate([(Q8_0, types.Q8_0), (Q4_1, types.Q4_1)]):
        seed = 5000 + i
        records = draw(layout, np.random.default_rng(seed))
        exact = numbers(records)
        compare_with_gguf(records, kind, exact)
        for dtype in FORMATS:
            y = encode(once(exact, dtype), dtype)
            save("dequantize", f"{kind.name.lower()}_{dtype.lower()}",
                 {"x": ("U8", [RECORDS, layout.itemsize], records.tobytes()), "y": (dtype, [RECORDS, 32], y)},
                 {"format": kind.value}, seed)


def make_other_records():
    """Records that gguf reads and this file does not: their FP32 numbers are exact but for one rounding, theirs."""
    types = gguf.GGMLQuantizationType
    halves = {"Q4_0": (0,), "Q5_0": (0,), "Q5_1": (0, 2), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2),
              "Q5_K": (0, 2), "Q6_K": (208,), "IQ4_NL": (0,), "IQ4_XS": (0,), "MXFP4": (), "NVFP4": ()}
    for i, (name, places) in enumerate(halves.items()):
        kind, seed = types[name], 5050 + i
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        g = np.random.default_rng(seed)
        records = g.integers(0, 256, (24 if elements == 32 else 8 if elements == 256 else 16, size), dtype=np.uint8)
        for at in places:
            records[:, at:at + 2] = (g.normal(size=(len(records), 1)) / 64).astype("<f2").view(np.uint8)
        records[:, :4] &= 127 if name == "NVFP4" else 255  # gguf reads the highest bit of NaN
        y = gguf.dequantize(records, kind).astype("<f4")
        save("dequantize", f"{name.lower()}_f32",
             {"x": ("U8", list(records.shape), records.tobytes()), "y": ("F32", list(y.shape), y.tobytes())},
             {"format": kind.value}, seed, by="the gguf package, FP32")


# ---- cast --------------------------------------------------------------------------------------------------------
TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype(ml_dtypes.bfloat16)}


def make_cast():
    for i, (source, kind) in enumerate(TYPES.items()):
        seed = 5100 + i
        g = np.random.default_rng(seed)
        word = np.dtype(f"<u{kind.itemsize}")
        bits = g.integers(0, 1 << 8 * kind.itemsize, 700, dtype=np.uint64).astype(word).view(kind)
        # Midpoints of the narrower types, and their neighbours, over all exponents, subnormal ones included.
        near = []
        for dtype in ("F16", "BF16"):
            digits, least, largest = FORMATS[dtype]
            exponents = g.integers(least - digits, largest + 1, 250)
            quanta = np.maximum(exponents, least) - digits + 1
            steps = np.floor(np.ldexp(1 + g.random(250), exponents - quanta)) + 0.5
            near.append(np.ldexp(steps + g.integers(-1, 2, 250) * 2.0**-10, quanta))
        values = np.concatenate(near) * g.choice([-1, 1], 500)
        with np.errstate(all="ignore"):
            x = np.concatenate([bits, values.astype(np.float32).astype(kind), np.array([0.0, -0.0]).astype(kind)])
            results = {f"y_{name.lower()}": (name, [x.size], x.astype(to).tobytes()) for name, to in TYPES.items()}
        save("cast", source.lower(), {"x": (source, [x.size], x.tobytes())} | results, {}, seed)


# ---- amax --------------------------------------------------------------------------------------------------------
def make_amax():
    for i, dtype in enumerate(FORMATS):
        seed = 5300 + i
        g = np.random.default_rng(seed)
        x = once(g.normal(size=(9, 70)), dtype)
        x[1], x[2], x[3, 5], x[4, 6], x[5, 0], x[6, 69] = 0, -0.0, np.nan, -np.inf, np.inf, -1000
        x[7] = np.ldexp(np.rint(x[7] * 4), FORMATS[dtype][1] - FORMATS[dtype][0] + 1)  # the smallest numbers there are
        y = np.max(np.abs(x), axis=-1)
        save("amax", dtype.lower(), {"x": (dtype, [9, 70], encode(x, dtype)), "y": ("F32", [9, 1], encode(y, "F32"))},
             {}, seed)


# ---- quantize ----------------------------------------------------------------------------------------------------
def e4m3(values):
    """float32 to nearest even; what is beyond 448 becomes 448, where ml_dtypes gives NaN."""
    return codes_of(values, "E4M3")


LARGEST_CODE = {"E4M3": 448, "E5M2": 57344, "I8": 127}
NUMBERS = {"E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2, "I8": np.int8}


def codes_of(values, codes):
    """The same of another type; NaN is 0x7f, and 0 where there is none."""
    clipped = np.clip(values, -LARGEST_CODE[codes], LARGEST_CODE[codes])
    if codes == "I8":
        return np.rint(np.where(np.isnan(values), 0, clipped)).astype(np.int8).view(np.uint8)
    return np.where(np.isnan(values), 127, clipped.astype(NUMBERS[codes]).view(np.uint8))


def make_quantize():
    rows, n = 6, 300
    for i, dtype in enumerate(FORMATS):
        seed = 5400 + i
        g = np.random.default_rng(seed)
        x = once(np.ldexp(g.normal(size=(rows, n)), g.integers(-9, 9, (rows, n))), dtype)
        x[1], x[2, 140], x[3, 5], x[4, 200:] = 0, np.nan, np.inf, once(np.ldexp(x[4, 200:], -14), dtype)
        values, largest = x.astype(np.float32), np.float32(448)
        for name, block, given in (("tensor", 0, 0.0625), ("row", n, None), ("1x128", 128, None)):
            y, scales = np.zeros((rows, n), np.uint8), []
            for first in range(0, n, block or n):
                part = values[:, first : first + (block or n)]
                with np.errstate(all="ignore"):
                    scale = np.float32(given) if given else np.max(np.abs(part), axis=1, keepdims=True) / largest
                    y[:, first : first + (block or n)] = e4m3(part / np.where(scale == 0, np.float32(np.inf), scale))
                scales.append(np.broadcast_to(scale, (rows, 1)))
            scales = np.concatenate(scales, axis=1)
            save("quantize", f"{name}_{dtype.lower()}",
                 {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", [rows, n], y.tobytes()),
                  "scales": ("F32", list(scales.shape), scales.astype("<f4").tobytes())},
                 {"block": block or n, "given": bool(given)}, seed)


def make_codes():
    """E5M2 and I8, a scale a row and one given for all, and the numbers read back."""
    rows, n = 6, 130
    for i, (codes, given) in enumerate((codes, given) for codes in ("E5M2", "I8") for given in (False, True)):
        seed = 5480 + i
        g = np.random.default_rng(seed)
        x = once(np.ldexp(g.normal(size=(rows, n)), g.integers(-9, 9, (rows, n))), "F32")
        x[1], x[2, 40], x[3, 5], x[5] = 0, np.nan, np.inf, np.ldexp(g.integers(-300, 300, n), -5)
        values = x.astype(np.float32)
        with np.errstate(all="ignore"):
            largest = np.float32(LARGEST_CODE[codes])
            scale = np.float32(0.0625) if given else np.max(np.abs(values), axis=1, keepdims=True) / largest
            scale = np.broadcast_to(scale, (rows, 1)).astype(np.float32)
            y = codes_of(values / np.where(scale == 0, np.float32(np.inf), scale), codes).astype(np.uint8)
            back = y.view(NUMBERS[codes]).astype(np.float64) * scale.astype(np.float64)
            tensors = {"x": ("F32", [rows, n], encode(x, "F32")), "y": ("U8", [rows, n], y.tobytes()),
                       "scales": ("F32", [rows, 1], scale.tobytes())}
            tensors |= {f"back_{t.lower()}": (t, [rows, n], encode(once(back, t), t)) for t in FORMATS}
        save("quantize", f"{codes.lower()}_{'given' if given else 'row'}", tensors,
             {"block": n, "given": given, "codes": codes}, seed)


def make_quantized_records():
    """What the gguf package makes of numbers, of zeros, of one number and of a few that are equally large."""
    for i, name in enumerate(("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")):
        seed, kind = 5490 + i, gguf.GGMLQuantizationType[name]
        g = np.random.default_rng(seed)
        x = np.ldexp(g.normal(size=(40, 32)), g.integers(-20, 9, (40, 1))).astype("<f4")
        x[1], x[2], x[3:9] = 0, 1.5, np.ldexp(g.integers(-8, 9, (6, 32)), -3)
        y = gguf.quantize(x, kind)
        tensors = {"x": ("F32", [40, 32], x.tobytes()), "y": ("U8", list(y.shape), y.tobytes())}
        save("quantize", name.lower(), tensors, {"format": kind.value}, seed, by="the gguf package, FP32")


def e2m1(values):
    """float32 to nearest even; what is beyond 6 becomes 6, and so does NaN."""
    bits = np.clip(values, -6, 6).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    return np.where(np.isnan(values), 7, bits)


def make_mx():
    for i, (form, dtype) in enumerate((form, dtype) for form in ("mxfp8", "mxfp4") for dtype in FORMATS):
        seed, four = 5420 + i, form == "mxfp4"
        g = np.random.default_rng(seed)
        x = once(np.ldexp(g.normal(size=(48, 32)), g.integers(-30, 9, (48, 1))), dtype)
        x[1], x[2, 14], x[3, 5], x[4] = 0, np.nan, np.inf, once(np.ldexp(x[4], FORMATS[dtype][1]), dtype)
        amax = np.max(np.abs(x), axis=1, keepdims=True)
        exponent = np.maximum(np.where(np.isinf(amax), 129, np.frexp(amax)[1]) - (3 if four else 9), -127)
        exponent = np.where(amax == 0, -127, exponent)
        with np.errstate(invalid="ignore"):
            y = (e2m1 if four else e4m3)(np.ldexp(x, -exponent).astype(np.float32)).astype(np.uint8)
        scales = np.where(np.isnan(amax), 255, exponent + 127).astype(np.uint8)
        y = np.where(scales == 255, 7 if four else 127, y).astype(np.uint8)
        y = y[:, ::2] | y[:, 1::2] << 4 if four else y
        save("quantize", f"{form}_{dtype.lower()}",
             {"x": (dtype, [48, 32], encode(x, dtype)), "y": ("U8", list(y.shape), y.tobytes()),
              "scales": ("U8", [48, 1], scales.tobytes())},
             {"block": 32, "given": False} | ({"codes": "E2M1"} if four else {}), seed)


# ---- NVFP4 -------------------------------------------------------------------------------------------------------
def tiles(scales):
    """Scales in tiles of 128 rows by 4, by reshaping: 32 groups of 4 rows that are 32 apart."""
    rows, columns = (-size % by for size, by in zip(scales.shape, (128, 4)))
    padded = np.pad(scales, ((0, rows), (0, columns)))
    squares = padded.reshape(padded.shape[0] // 128, 128, -1, 4).transpose(0, 2, 1, 3)
    return squares.reshape(-1, 4, 32, 4).transpose(0, 2, 1, 3).reshape(-1)


def divisor(values):
    return np.where(values == 0, np.float32(np.inf), values)


def make_nvfp4():
    rows, n = 6, 100
    for i, (dtype, given) in enumerate((dtype, given) for dtype in FORMATS for given in (False, True)):
        seed = 5440 + i
        g = np.random.default_rng(seed)
        x = once(np.ldexp(g.normal(size=(rows, n)), g.integers(-9, 3, (rows, n))), dtype)
        x[1], x[4, 50:] = 0, once(np.ldexp(x[4, 50:], -14), dtype)
        x[5, 16:32] = once(x[5, 16:32] * 2.0**-13, dtype)  # a scale below the smallest
        if given:
            x[2, 40], x[3, 5] = np.nan, -np.inf
        values = np.pad(x.astype(np.float32), ((0, 0), (0, -n % 16)))
        with np.errstate(all="ignore"):
            whole = np.float32(0.0078) if given else np.max(np.abs(values)) / np.float32(448 * 6)
            blocks = values.reshape(rows, -1, 16)
            scales = e4m3(np.max(np.abs(blocks), axis=2) / divisor(np.float32(6) * whole)).astype(np.uint8)
            factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
            codes = e2m1(blocks / divisor(factors * whole)[:, :, None]).astype(np.uint8)
            numbers = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64) * factors.astype(np.float64)[:, :, None]
            back = (numbers * np.float64(whole)).reshape(rows, -1)[:, :n]
        codes = codes.reshape(rows, -1)[:, :n]
        packed = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
        in_tiles = tiles(scales)
        tensors = {"x": (dtype, [rows, n], encode(x, dtype)), "y": ("U8", list(packed.shape), packed.tobytes()),
                   "scales": ("U8", list(scales.shape), scales.tobytes()),
                   "tiles": ("U8", [in_tiles.size], in_tiles.tobytes()),
                   "whole": ("F32", [1], np.array([whole], "<f4").tobytes())}
        with np.errstate(all="ignore"):
            tensors |= {f"back_{name.lower()}": (name, [rows, n], encode(once(back, name), name)) for name in FORMATS}
        save("quantize", f"nvfp4_{'given_' if given else ''}{dtype.lower()}", tensors, {"given": given}, seed)


# ---- softmax -----------------------------------------------------------------------------------------------------
def make_softmax():
    why = "double against double: 300 terms, an exponential and a logarithm, relative to y or to 1"
    cases = [  # name, dtype, rows, N, scale, log
        ("bf16", "BF16", 8, 256, 1.0, False), ("log_bf16", "BF16", 8, 256, 1.0, True),
        ("scale_f16", "F16", 7, 100, 0.125, False), ("negative_scale_f32", "F32", 7, 77, -2.5, False),
        ("log_scale_f32", "F32", 7, 300, 1.75, True), ("width_one_f32", "F32", 5, 1, 1.0, False),
    ]
    for i, (name, dtype, rows, n, scale, log) in enumerate(cases):
        seed = 5200 + i
        g = np.random.default_rng(seed)
        x = once(g.normal(size=(rows, n)) * 4, dtype)
        if n > 1:  # masked elements, a row of them, a NaN; an infinity, but not where SciPy subtracts 0 in its place
            x[1, ::3], x[2], x[3, 5] = -np.inf * np.sign(scale), -np.inf * np.sign(scale), np.nan
            x[4, 7] = x[4, 7] if log else np.inf * np.sign(scale)
        with np.errstate(all="ignore"):
            y = (scipy.special.log_softmax if log else scipy.special.softmax)(x * scale, axis=-1)
        shape = [rows, n]
        save("softmax", name, {"x": (dtype, shape, encode(x, dtype)), "y64": ("F64", shape, y.tobytes()),
                               "y": (dtype, shape, encode(once(y, dtype), dtype))},
             {"scale": scale, "log": log}, seed, 2.0**-44, why)


# ---- hadamard ----------------------------------------------------------------------------------------------------
def make_hadamard():
    why = "double against double: 256 terms of either sign, relative to the largest result"
    cases = [  # name, dtype, rows, N, P, signs, after
        ("16_bf16", "BF16", 6, 48, 16, False, False), ("64_signs_f16", "F16", 5, 128, 64, True, False),
        ("128_after_f32", "F32", 3, 256, 128, True, True), ("256_signs_f32", "F32", 3, 256, 256, True, False),
    ]
    for i, (name, dtype, rows, n, size, signed, after) in enumerate(cases):
        seed = 5500 + i
        g = np.random.default_rng(seed)
        x = once(g.normal(size=(rows, n)) * 4, dtype)
        signs = g.choice([-1.0, 1.0], size) if signed else np.ones(size)
        blocks = x.reshape(rows, -1, size) * (1 if after else signs)
        y = blocks @ scipy.linalg.hadamard(size).astype(np.float64) * size**-0.5 * (signs if after else 1)
        shape = [rows, n]
        y = y.reshape(shape)
        tensors = {"x": (dtype, shape, encode(x, dtype)), "y64": ("F64", shape, y.tobytes()),
                   "y": (dtype, shape, encode(once(y, dtype), dtype))}
        if signed:
            tensors["signs"] = (dtype, [size], encode(signs, dtype))
        save("hadamard", name, tensors, {"size": size, "scale": size**-0.5, "signs_after": after}, seed,
             float(256 * 2.0**-52 * np.abs(y).max()), why)


# ---- merge_states ------------------------------------------------------------------------------------------------
def make_merge_states():
    """Whole attention over the keys, and over pieces of them: the merged pieces must be the whole."""
    why = "double against double: 40 keys, exponentials and logarithms, and the states in F32 as they are given"
    for i, (name, dtype, cuts, h, d, more) in enumerate([("three_f32", "F32", (0, 9, 10, 40), 2, 24, False),
                                                         ("ring_bf16", "BF16", (0, 17, 40), 3, 16, True),
                                                         ("empty_f16", "F16", (0, 12, 12, 40), 2, 8, False)]):
        seed = 5700 + i
        g = np.random.default_rng(seed)
        scores, values = g.normal(size=(4, h, 40)) * 3, g.normal(size=(40, d)) * 2
        logs, states = [], []
        for a, b in zip(cuts, cuts[1:]):
            log = scipy.special.logsumexp(scores[..., a:b], axis=-1) if b > a else np.full((4, h), -np.inf)
            weights = np.exp(scores[..., a:b] - log[..., None])
            logs.append(log.astype(np.float32).astype(np.float64))
            states.append(once(weights @ values[a:b], dtype))
        s, v = np.stack(logs), np.stack(states)
        lse = scipy.special.logsumexp(s, axis=0)
        y = np.einsum("pth,pthd->thd", scipy.special.softmax(s, axis=0), v)
        assert np.allclose(y, scipy.special.softmax(scores, axis=-1) @ values, atol=0.05)  # what it is for
        assert np.allclose(lse, scipy.special.logsumexp(scores, axis=-1), atol=1e-5)
        count = len(s) - more
        tensors = {"x": (dtype, [count, 1, 4, h, d], encode(v[:count], dtype)),
                   "x_lse": ("F32", [count, 1, 4, h], encode(s[:count], "F32")),
                   "y": (dtype, [1, 4, h, d], encode(once(y, dtype), dtype)), "y64": ("F64", [1, 4, h, d], y.tobytes()),
                   "y_lse64": ("F64", [1, 4, h], lse.tobytes())}
        if more:
            tensors |= {"more": (dtype, [1, 4, h, d], encode(v[count:], dtype)),
                        "more_lse": ("F32", [1, 4, h], encode(s[count:], "F32"))}
        save("merge_states", name, tensors, {}, seed, 2.0**-44, why)


# ---- attention with a softcap ------------------------------------------------------------------------------------
def make_softcap():
    """Gemma 2's order: scale, cap, mask. Bottom-right aligned; the last query of each sequence sees all its keys."""
    why = "double against double: sums of 32 products, tanh, an exponential; values below 8"
    for i, (name, dtype, cap, scale) in enumerate([("gemma_bf16", "BF16", 50.0, 0.5), ("tight_f16", "F16", 2.0, 0.25)]):
        seed, shape, keys, h, hkv, d = 5800 + i, (2, 6, 4, 32), [17, 9], 4, 2, 32
        g = np.random.default_rng(seed)
        q = once(g.normal(size=shape) * 4, dtype)
        k, v = (once(g.normal(size=(2, 17, hkv, d)) * 2, dtype) for _ in range(2))
        o, lse = np.zeros(shape), np.zeros(shape[:3])
        for b, n in enumerate(keys):
            wide = np.repeat(k[b, :n], h // hkv, axis=1), np.repeat(v[b, :n], h // hkv, axis=1)
            scores = cap * np.tanh(np.einsum("ihd,jhd->hij", q[b], wide[0]) * scale / cap)
            scores = np.where(np.tri(6, n, n - 6, dtype=bool), scores, -np.inf)
            o[b] = np.einsum("hij,jhd->ihd", scipy.special.softmax(scores, axis=-1), wide[1])
            lse[b] = scipy.special.logsumexp(scores, axis=-1).T
        tensors = {"q": (dtype, list(shape), encode(q, dtype)), "k": (dtype, list(k.shape), encode(k, dtype)),
                   "v": (dtype, list(v.shape), encode(v, dtype)),
                   "o": (dtype, list(shape), encode(once(o, dtype), dtype)),
                   "o64": ("F64", list(shape), o.tobytes()), "lse64": ("F64", list(shape[:3]), lse.tobytes()),
                   "seq_lens": ("I32", [2], np.array(keys, "<i4").tobytes())}
        args = {"scale": scale, "causal": True, "softcap": cap}
        save("attention", f"softcap_{name}", tensors, args, seed, 2.0**-40, why)


# ---- gemm --------------------------------------------------------------------------------------------------------
def make_gemm():
    why = "sums are exact in double, of 96 products with 8 bits from 2^-18 to 2^18; two scales are rounded twice"
    m, n, k = 23, 17, 96
    for i, (name, rows_a, rows_b) in enumerate([("row_row", m, n), ("row_tensor", m, 1), ("tensor_none", 1, 0)]):
        seed = 5300 + i
        g = np.random.default_rng(seed)
        codes = [np.where(c % 128 == 127, 0, c).astype(np.uint8) for c in (g.integers(0, 256, (r, k)) for r in (m, n))]
        a, b = (c.view(ml_dtypes.float8_e4m3fn).astype(np.float64) for c in codes)
        tensors = {"a": ("F8_E4M3", [m, k], codes[0].tobytes()), "b": ("F8_E4M3", [n, k], codes[1].tobytes())}
        d = a @ b.T
        for field, rows, turn in (("a_scale", rows_a, (-1, 1)), ("b_scale", rows_b, (1, -1))):
            if rows:
                scale = (2.0**-8 * (1 + g.random(rows))).astype(np.float32)
                tensors[field] = ("F32", [rows], scale.tobytes())
                d = d * scale.astype(np.float64).reshape(turn)
        tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
        args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
        save("gemm", f"e4m3_{name}", tensors, args, seed, float(4 * 2.0**-52 * np.abs(d).max()), why)


def make_float_gemm():
    why = "double against double: sums of 60 products"
    m, n, k = 21, 34, 60
    for i, (name, a_turned, b_turned) in enumerate([("tn", False, False), ("nt", True, True)]):
        seed = 5390 + i
        g = np.random.default_rng(seed)
        a, b = (once(g.normal(size=(r, k)), "F32") for r in (m, n))
        d = a @ b.T
        tensors = {"a": ("F32", [k, m] if a_turned else [m, k], encode(a.T.copy() if a_turned else a, "F32")),
                   "b": ("F32", [k, n] if b_turned else [n, k], encode(b.T.copy() if b_turned else b, "F32")),
                   "d64": ("F64", [m, n], d.tobytes()), "d": ("F32", [m, n], encode(once(d, "F32"), "F32"))}
        args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": a_turned, "b_transposed": b_turned}
        tolerance = float(64 * 2.0**-52 * np.abs(a).max() * np.abs(b).max() * k)
        save("gemm", f"f32_{name}", tensors, args, seed, tolerance, why)


def make_mixed_gemm():
    """E5M2 with E4M3 and with itself; exponents that leave sums exact in double."""
    m, n, k = 19, 13, 80
    why = "sums are exact in double, of 80 products that are near each other; two scales are rounded twice"
    for i, types in enumerate((("E5M2", "E4M3"), ("E4M3", "E5M2"), ("E5M2", "E5M2"))):
        seed = 5330 + i
        g = np.random.default_rng(seed)
        values = [np.ldexp(g.normal(size=(rows, k)), g.integers(-5, 5, (rows, k))) for rows in (m, n)]
        codes = [codes_of(v.astype(np.float32), t).astype(np.uint8) for v, t in zip(values, types)]
        numbers = [c.view(NUMBERS[t]).astype(np.float64) for c, t in zip(codes, types)]
        scales = [(2.0**-8 * (1 + g.random(rows))).astype(np.float32) for rows in (m, 1)]
        d = numbers[0] @ numbers[1].T * scales[0].astype(np.float64)[:, None] * scales[1].astype(np.float64)
        tensors = {name: (f"F8_{t}", list(c.shape), c.tobytes()) for name, c, t in zip("ab", codes, types)}
        tensors |= {f"{name}_scale": ("F32", [s.size], s.tobytes()) for name, s in zip("ab", scales)}
        tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
        args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
        save("gemm", "_".join(types).lower(), tensors, args, seed, float(4 * 2.0**-52 * np.abs(d).max()), why)


def make_integer_gemm():
    """NumPy's matmul of int64: the sums themselves, and with scales, a bias and c."""
    m, n, k = 23, 17, 96
    why = "sums are exact; the rest is a few operations of double, relative to the largest result"
    args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
    for i, name in enumerate(("sums", "scaled")):
        seed = 5320 + i
        g = np.random.default_rng(seed)
        a, b = (g.integers(-128, 128, (rows, k)) for rows in (m, n))
        tensors = {"a": ("I8", [m, k], a.astype(np.int8).tobytes()), "b": ("I8", [n, k], b.astype(np.int8).tobytes())}
        sums = a @ b.T
        d = sums.astype(np.float64)
        if name == "sums":
            tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("I32", [m, n], sums.astype("<i4").tobytes())}
            save("gemm", f"i8_{name}", tensors, args, seed, 0.0, why)
            continue
        scales = [(2.0**-12 * (1 + g.random(rows))).astype(np.float32) for rows in (m, n)]
        bias, c = once(g.normal(size=n), "BF16"), once(g.normal(size=(m, n)), "BF16")
        d = 0.5 * d * scales[0].astype(np.float64)[:, None] * scales[1].astype(np.float64) - 1.5 * c + bias
        tensors |= {f"{field}_scale": ("F32", [s.size], s.tobytes()) for field, s in zip("ab", scales)}
        tensors |= {"bias": ("BF16", [n], encode(bias, "BF16")), "c": ("BF16", [m, n], encode(c, "BF16")),
                    "d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
        save("gemm", f"i8_{name}", tensors, args | {"alpha": 0.5, "beta": -1.5}, seed,
             float(8 * 2.0**-52 * np.abs(d).max()), why)


def block_scaled(g, form, rows, k):
    """(codes, scales of blocks, the numbers they stand for) of rows of k random codes."""
    block, scale_type = (16, ml_dtypes.float8_e4m3fn) if form == "nvfp4" else (32, ml_dtypes.float8_e8m0fnu)
    scales = g.integers(*((0, 0x7F) if form == "nvfp4" else (110, 130)), (rows, k // block)).astype(np.uint8)
    if form == "mxfp8":
        codes = g.integers(0, 256, (rows, k))
        codes = stored = np.where(codes % 128 == 127, 0, codes).astype(np.uint8)
        dtype, numbers = "F8_E4M3", codes.view(ml_dtypes.float8_e4m3fn)
    else:
        codes = g.integers(0, 16, (rows, k)).astype(np.uint8)
        stored = (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
        dtype, numbers = "U8", codes.view(ml_dtypes.float4_e2m1fn)
    factors = np.repeat(scales.view(scale_type).astype(np.float64), block, axis=1)
    return ((dtype, list(stored.shape), stored.tobytes()), ("U8", list(scales.shape), scales.tobytes()),
            numbers.astype(np.float64) * factors)


def make_block_scaled_gemm():
    why = "sums of 96 products that are exact in double; scales of all are rounded twice"
    m, n, k = 19, 13, 96
    for i, (form, whole) in enumerate((("nvfp4", False), ("nvfp4", True), ("mxfp8", False), ("mxfp4", False))):
        seed = 5320 + i
        g = np.random.default_rng(seed)
        tensors, numbers = {}, []
        for field, rows in (("a", m), ("b", n)):
            tensors[field], tensors[f"{field}_blocks"], decoded = block_scaled(g, form, rows, k)
            numbers.append(decoded)
        d = numbers[0] @ numbers[1].T
        for field in ("a", "b") if whole else ():
            scale = (2.0**-8 * (1 + g.random(1))).astype(np.float32)
            tensors[f"{field}_scale"] = ("F32", [1], scale.tobytes())
            d = d * scale.astype(np.float64)
        tensors |= {"d64": ("F64", [m, n], d.tobytes()), "d": ("BF16", [m, n], encode(once(d, "BF16"), "BF16"))}
        args = {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False}
        save("gemm", f"{form}{'_two_levels' if whole else ''}", tensors, args, seed,
             float(4 * 2.0**-52 * np.abs(d).max()), why)


def make_gemm_records():
    why = "each of 96 steps of a sum in double is off by less than 2^-52 of its terms' magnitude"
    m, n, k = 5, 7, 96
    types = gguf.GGMLQuantizationType
    for i, (layout, kind, dtype) in enumerate([(Q8_0, types.Q8_0, "BF16"), (Q4_1, types.Q4_1, "F16")]):
        seed = 5310 + i
        g = np.random.default_rng(seed)
        records = np.zeros(n * k // 32, layout)
        records[:] = g.integers(0, 256, records.nbytes, dtype=np.uint8).view(layout)
        for field in ("d", "m") if layout is Q4_1 else ("d",):
            records[field] = g.normal(size=len(records)) / 16
        exact = numbers(records)
        compare_with_gguf(records, kind, exact)
        b = exact.reshape(n, k)
        a = once(g.normal(size=(m, k)), dtype)
        d = a @ b.T
        save("gemm", kind.name.lower(),
             {"a": (dtype, [m, k], encode(a, dtype)), "b": ("U8", [n, k // 32 * layout.itemsize], records.tobytes()),
              "d64": ("F64", [m, n], d.tobytes()), "d": (dtype, [m, n], encode(once(d, dtype), dtype))},
             {"alpha": 1.0, "beta": 0.0, "activation": "none", "a_transposed": False, "b_transposed": False,
              "b_format": kind.value}, seed, float(k * 2.0**-52 * (np.abs(a) @ np.abs(b).T).max()), why)


if __name__ == "__main__":
    make_dequantize()
    make_other_records()
    make_cast()
    make_amax()
    make_quantize()
    make_codes()
    make_quantized_records()
    make_mx()
    make_nvfp4()
    make_softmax()
    make_hadamard()
    make_merge_states()
    make_softcap()
    make_gemm()
    make_float_gemm()
    make_mixed_gemm()
    make_integer_gemm()
    make_block_scaled_gemm()
    make_gemm_records()

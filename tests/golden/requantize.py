#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the golden vectors of requantize: what codes stand for in float64, rounded once to float32, then codes and
scales of the matrix and of NumPy's transpose of it, in float32 and by ml_dtypes. Needs what make_formats.py needs;
nothing of libspark is used."""
import ml_dtypes
import numpy as np

from codes import coded
from make_formats import divisor, e2m1, e4m3, encode, once, save

BY = f"NumPy {np.__version__}, float32, ml_dtypes {ml_dtypes.__version__}"
WHY = "codes and scales of numbers that are known: compared bit for bit"


def as_u8(values):
    return "U8", list(values.shape), np.ascontiguousarray(values).tobytes()


def nvfp4(x, whole):
    blocks = np.pad(x, ((0, 0), (0, -x.shape[1] % 16))).reshape(len(x), -1, 16)
    with np.errstate(all="ignore"):
        scales = e4m3(np.max(np.abs(blocks), axis=2) / divisor(np.float32(6) * whole)).astype(np.uint8)
        factors = scales.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        codes = e2m1(blocks / divisor(factors * whole)[:, :, None]).astype(np.uint8)
    codes = codes.reshape(len(x), -1)[:, : x.shape[1]]
    return (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8), scales


def both(x, form, whole=None):
    tensors, args = {}, {"given": False}
    for suffix, matrix in ("", x), ("_t", np.ascontiguousarray(x.T)):
        if form == "nvfp4":
            y, scales = nvfp4(matrix, whole)
        else:
            y, scales, block = coded(matrix, form, "E4M3")
            args |= {"block": block, "codes": "E4M3"}
        tensors[f"y{suffix}"] = as_u8(y)
        kind = "F32" if scales.dtype == np.float32 else "U8"
        tensors[f"scales{suffix}"] = kind, list(scales.shape), scales.tobytes()
    if whole is not None:
        tensors["whole"] = "F32", [1], np.array([whole], "<f4").tobytes()
        args["given"] = True
    return tensors, args


def make_numbers(name, dtype, form, rows, n, seed):
    g = np.random.default_rng(seed)
    x = g.normal(size=(rows, n)) * 3
    x[1], x[5, n // 2] = 0, np.nan
    if form == "1x128":
        x[9, 0] = np.inf
    x = once(x, dtype)
    tensors, args = both(x.astype(np.float32), form, np.float32(0.0078) if form == "nvfp4" else None)
    save("requantize", name, {"x": (dtype, [rows, n], encode(x, dtype))} | tensors, args, seed, why=WHY, by=BY)


# Codes of any bits under scales of blocks of a row: bytes, or with `whole` NVFP4's.
def make_codes(name, codes, block, form, rows, n, seed):
    g = np.random.default_rng(seed)
    blocks = -(-n // block)
    x = g.integers(0, 256, (rows, n // 2 if codes == "E2M1" else n), np.uint8)
    tensors, args = {"x": as_u8(x)}, {"from": codes, "from_block": block, "n": n}
    if codes == "E2M1":
        stored, whole = g.integers(0, 0x7f, (rows, blocks), np.uint8), np.float32(0.37)
        numbers = np.stack([x & 15, x >> 4], axis=2).reshape(rows, n).view(ml_dtypes.float4_e2m1fn)
        scales = stored.view(ml_dtypes.float8_e4m3fn).astype(np.float64) * np.float64(whole)
        tensors |= {"from_scales": as_u8(stored), "from_whole": ("F32", [1], whole.tobytes())}
    else:
        stored = (g.normal(size=(rows, blocks)) * 0.01).astype(np.float32)
        numbers = x.view(np.int8 if codes == "I8" else ml_dtypes.float8_e4m3fn)
        scales = stored.astype(np.float64)
        tensors["from_scales"] = "F32", [rows, blocks], stored.tobytes()
    exact = numbers.astype(np.float64) * np.repeat(scales, block, axis=1)[:, :n]
    made, more = both(once(exact, "F32").astype(np.float32), form)
    save("requantize", name, tensors | made, args | more, seed, why=WHY, by=BY)


if __name__ == "__main__":
    make_numbers("1x128_bf16", "BF16", "1x128", 136, 72, 6400)
    make_numbers("mxfp8_f16", "F16", "mxfp8", 40, 136, 6401)
    make_numbers("mxfp8_f32", "F32", "mxfp8", 33, 131, 6402)
    make_numbers("nvfp4_bf16", "BF16", "nvfp4", 36, 130, 6403)
    make_codes("e4m3_1x128_to_mxfp8", "E4M3", 128, "mxfp8", 36, 200, 6404)
    make_codes("nvfp4_to_1x128", "E2M1", 16, "1x128", 134, 56, 6405)
    make_codes("i8_row_to_mxfp8", "I8", 70, "mxfp8", 40, 70, 6406)

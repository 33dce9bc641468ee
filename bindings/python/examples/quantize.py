#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quantises two matrices, multiplies them, and compares with the product of the numbers before: E4M3 with a scale for
each row, and NVFP4.

LIBSPARK_DRIVER=emu on a computer without a GPU.
"""
import numpy as np
import numpy.typing as npt

from libspark import Context, DeviceArray, Dtype, Quantized, Stream, ops

M, N, K, BLOCK = 4, 64, 128, 16  # y[M, N] = x[M, K] w[N, K]^T; NVFP4 has a scale for 16 numbers


def numbers(stream: Stream, state: int, rows: int) -> DeviceArray:
    """Small numbers that every language can make: a linear congruence, its upper bits as multiples of 2^-10."""
    values = []
    for _ in range(rows * K):
        state = (state * 1664525 + 1013904223) % 2 ** 32
        values.append(((state >> 24) - 128) / 1024)
    return DeviceArray.from_numpy(np.array(values, "f4").reshape(rows, K), Dtype.BF16, stream=stream)


def quantized(stream: Stream, x: DeviceArray, fp4: bool) -> Quantized:
    """x in the format, with its scales: one for each row, or for each block of one and for all."""
    rows = x.shape[0]
    y = DeviceArray.empty((rows, K), Dtype.E2M1 if fp4 else Dtype.E4M3, stream=stream)
    if fp4:
        scales = DeviceArray.empty((rows, K // BLOCK), Dtype.UE4M3, stream=stream)
        result = Quantized(y, scales, global_scale=DeviceArray.empty((1,), Dtype.F32, stream=stream))
    else:
        result = Quantized(y, DeviceArray.empty((rows,), Dtype.F32, stream=stream), form="row")
    ops.quantize(x, y=result, own_amax=fp4)
    return result


def main() -> None:
    stream = Stream(Context())
    x, w = numbers(stream, 1, M), numbers(stream, 2, N)
    y = DeviceArray.empty((M, N), Dtype.F32, stream=stream)
    ops.gemm(x, w, d=y)
    exact: npt.NDArray[np.float64] = y.numpy().astype("f8")
    print("format       largest error   error, of the product")
    for fp4 in (False, True):
        ops.gemm(quantized(stream, x, fp4), quantized(stream, w, fp4), d=y)
        error = y.numpy() - exact
        part = 100 * float(np.sqrt((error ** 2).sum() / (exact ** 2).sum()))
        if not part < (27 if fp4 else 7.5):
            raise SystemExit("twice what rounding both factors explains")
        print(f"{'NVFP4' if fp4 else 'E4M3, rows':12} {float(abs(error).max()):.6f}        {part:.2f} %")


if __name__ == "__main__":
    main()

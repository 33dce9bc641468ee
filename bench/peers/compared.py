# SPDX-License-Identifier: Apache-2.0
#
# Products of PyTorch that torch_peers.py holds against ours by what either may err, element by element, in the place
# of a part of the largest: _int_mm, whose sums are exact, and _scaled_mm. Each function says in words how near they
# were, for the record, and raises ValueError where they were not near enough. Runs wherever PyTorch has the product.
import math

import torch

BF16 = 2.0 ** -8  # of a number, that rounding to BF16 may change
# Ours: 16 products a step, 25 fraction bits, up to eight parts, and a rounding for each of two scales: as the checks
# of gemm have it. Theirs: 9.0 multiplies FP8 32 at a time and keeps 13 fraction bits below the largest of these and of
# the sum so far, which without use_fast_accum is added in FP32 each 128 of k: 4 steps of 33 numbers that are cut.
THEIRS = 4 * 33 * 2.0 ** -13


def ours_errs(k):
    return (math.ceil(k / 16) + 1 + min(k // 32, 8)) * 2.0 ** -23 + 2 * 2.0 ** -24


def integers(sums, rounded, theirs):
    """Our sums in I32 and our result in BF16, beside theirs, in I32."""
    if not torch.equal(sums, theirs):
        raise ValueError(f"{int((sums != theirs).sum())} of {theirs.numel()} sums differ from _int_mm's")
    if not torch.equal(rounded, theirs.float().bfloat16()):
        raise ValueError("the result is not the sums, rounded")
    return "equal bits"


def worst(got, exact, magnitude, part):
    """The largest error of a result in BF16, of what it may be."""
    allowed = part * magnitude + BF16 * (exact.abs() + part * magnitude) + 2.0 ** -133
    return ((got.double() - exact).abs() / allowed).nan_to_num(nan=math.inf).max().item()


def codes(a, b, a_scale, b_scale, own, theirs):
    """Of FP8 with scales that broadcast over the rows of a and of b: our result and theirs beside that of F64."""
    scales = a_scale.double().reshape(-1, 1) * b_scale.double().reshape(1, -1)
    exact = a.double() @ b.double().t() * scales
    magnitude = a.double().abs() @ b.double().abs().t() * scales
    shares = [worst(own, exact, magnitude, ours_errs(a.shape[1])), worst(theirs, exact, magnitude, THEIRS)]
    said = "ours within {:.2f}, theirs within {:.2f} of what each may err".format(*shares)
    if max(shares) > 1:
        raise ValueError(said)
    return said

// SPDX-License-Identifier: Apache-2.0
// Gated results in cases of gemm: what is right, and how arguments say it. For all three kinds of cases.
#pragma once

#include "check/random.h"
#include "ops/families.h"
#include "ref/gemm.h"

namespace check {

// An element before the gate: as the oracle has it, and what FP32 arithmetic may err by.
struct GemmNumber {
    double value, error;
};
// d from those of both rows of b:
//   (act(g) + e)(u + f): e |u| + f |act(g)| + e f, and 2^-24 of the product; e is of the activation, with slopes and
//   approximations as of gemm_error (SiLU and the sigmoid of 1.702 g: 1.10); limits have slope 1; u + 1 is rounded.
Allowed gated(const ref::Gate& gate, ref::Activation activation, ref::Type out, GemmNumber g, GemmNumber u);

void set_gate(spark_gemm_args& args, const ref::Gate& gate);
// For n rows of b; mostly none, and none for an odd n.
ref::Gate random_gate(Random& r, int64_t n);

} // namespace check

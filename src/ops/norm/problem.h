// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family norm.
#pragma once

#include "ops/common/coded.h"
#include "ops/norm/fields.h"
#include "ops/operator.h"

namespace spark {

// A row-wise norm of rows1 x rows0 rows of n elements: rmsnorm, l2norm and layernorm are v * rsqrt(scale * sum(v^2) +
// eps) with scale 1/n or 1, v less its mean if centre holds. One struct, one set of kernels.
struct RowNorm {
    RowTensor x, residual, y, residual_out; // data 0 = absent
    spark_devptr weight, bias;
    bool weight_f32, bias_f32, centre;
    int64_t n, rows1, rows0;
    float eps, scale;
    uint32_t flags;
    bool coded; // y becomes codes, which these say
    Coded codes;
    CodedKind kind;
};

// Elements of half a turn, and the warps, of norm.codes.ptx, which is_usual() asks about before a kernel is known.
constexpr int64_t HALF_TURN = 512, CODED_WARPS = 8;

} // namespace spark

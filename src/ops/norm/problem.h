// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family norm, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/common/rows.h"
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
};

// Facts. NAME_align: the largest power of two, at most 256, that divides the address and both row strides in bytes;
// 256 where the tensor is absent.
enum NormFact : uint32_t {
    NORM_N,
    NORM_ROWS,
    NORM_X_ALIGN,
    NORM_RESIDUAL_ALIGN,
    NORM_Y_ALIGN,
    NORM_RESIDUAL_OUT_ALIGN,
    NORM_WEIGHT_ALIGN,
    NORM_BIAS_ALIGN,
    NORM_FACTS
};
constexpr const char* NORM_FACT_NAMES[] = {
    "n", "rows", "x_align", "residual_align", "y_align", "residual_out_align", "weight_align", "bias_align"};
static_assert(std::size(NORM_FACT_NAMES) == NORM_FACTS);

spark_status check_rmsnorm(const Bound& bound, Work& work, Report& report);
spark_status check_l2norm(const Bound& bound, Work& work, Report& report);
spark_status check_layernorm(const Bound& bound, Work& work, Report& report);

} // namespace spark

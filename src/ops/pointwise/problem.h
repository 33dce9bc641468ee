// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family pointwise, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/common/rows.h"
#include "ops/operator.h"

namespace spark {

// activation, glu and add: y = act(x), act(x) * z or x + z, as the contract says. rows1 x rows0 rows of n elements;
// rows that follow each other without a gap in all tensors count as one.
struct Pointwise {
    RowTensor x, z, y; // z absent: activation
    int64_t n, rows1, rows0;
    int64_t per_chunk; // elements of 16 bytes
    uint32_t activation, flags;
};

// Facts. NAME_align: the largest power of two, at most 256, that divides the address and both row strides in bytes;
// 256 where the tensor is absent.
enum PointwiseFact : uint32_t {
    POINTWISE_N,
    POINTWISE_ROWS,
    POINTWISE_X_ALIGN,
    POINTWISE_Z_ALIGN,
    POINTWISE_Y_ALIGN,
    POINTWISE_FACTS
};
constexpr const char* POINTWISE_FACT_NAMES[] = {"n", "rows", "x_align", "z_align", "y_align"};
static_assert(std::size(POINTWISE_FACT_NAMES) == POINTWISE_FACTS);

spark_status check_activation(const Bound& bound, Work& work, Report& report);
spark_status check_glu(const Bound& bound, Work& work, Report& report);
spark_status check_add(const Bound& bound, Work& work, Report& report);

} // namespace spark

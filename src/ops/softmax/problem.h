// SPDX-License-Identifier: Apache-2.0
// The checked softmax, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/common/rows.h"
#include "ops/operator.h"

namespace spark {

// rows1 x rows0 rows of n elements; row (i, j) begins i * outer + j * inner elements from data.
struct Softmax {
    RowTensor x, y;
    int64_t n, rows1, rows0;
    float scale; // never 0
    uint32_t flags;
};

// NAME_align: the largest power of two, at most 256, that divides the address and both row strides in bytes.
enum SoftmaxFact : uint32_t { SOFTMAX_N, SOFTMAX_ROWS, SOFTMAX_X_ALIGN, SOFTMAX_Y_ALIGN, SOFTMAX_FACTS };
constexpr const char* SOFTMAX_FACT_NAMES[] = {"n", "rows", "x_align", "y_align"};
static_assert(std::size(SOFTMAX_FACT_NAMES) == SOFTMAX_FACTS);

spark_status check_softmax(const Bound& bound, Work& work, Report& report);

} // namespace spark

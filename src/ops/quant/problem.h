// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family quant, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/common/rows.h"
#include "ops/operator.h"

namespace spark {

// rows1 x rows0 rows of n elements. Row (i, j) begins i * outer + j * inner from data: bytes of x, elements of y.
struct Dequantize {
    RowTensor x, y;
    int64_t n, rows1, rows0;
    uint32_t elem_bytes; // of y
};

// NAME_align: the largest power of two, at most 256, that divides the address and both row strides in bytes.
enum DequantizeFact : uint32_t { DEQ_N, DEQ_ROWS, DEQ_X_ALIGN, DEQ_Y_ALIGN, DEQ_FACTS };
constexpr const char* DEQUANTIZE_FACT_NAMES[] = {"n", "rows", "x_align", "y_align"};
static_assert(std::size(DEQUANTIZE_FACT_NAMES) == DEQ_FACTS);

spark_status check_dequantize(const Bound& bound, Work& work, Report& report);

} // namespace spark

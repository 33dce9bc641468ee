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
enum QuantFact : uint32_t { QUANT_N, QUANT_ROWS, QUANT_X_ALIGN, QUANT_Y_ALIGN, QUANT_FACTS };
constexpr const char* QUANT_FACT_NAMES[] = {"n", "rows", "x_align", "y_align"};
static_assert(std::size(QUANT_FACT_NAMES) == QUANT_FACTS);

// The same rows; scale: of each block of a row, `step` scales apart. amax: of all, or 0; quantize alone reads it.
struct Scaled {
    RowTensor x, y, scale;
    spark_devptr amax;
    int64_t step, n, rows1, rows0;
    float amax_floor;
    bool whole_rows; // a scale belongs to a row
};

// y[r1, r0] = amax of row (r1, r0) of x, of n elements; y is packed. all: of all of them, or 0.
struct Amax {
    RowTensor x;
    spark_devptr y, all;
    int64_t n, rows1, rows0;
};

spark_status check_dequantize(const ValidatedArgs& bound, CheckedOp& work, Report& report);
spark_status check_quantize(const ValidatedArgs& bound, CheckedOp& work, Report& report);
spark_status check_amax(const ValidatedArgs& bound, CheckedOp& work, Report& report);

} // namespace spark

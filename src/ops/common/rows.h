// SPDX-License-Identifier: Apache-2.0
// Folding the leading dimensions of row-wise tensors into few: adjacent dimensions merge where the outer stride
// steps exactly over the inner ones, in every tensor at once.
//
//     shape [2, 3, 4, N], strides [96, 32, 8, 1], N = 8:   3 x 4 merge (32 = 4 * 8), 2 x 12 too (96 = 12 * 8)
#pragma once

#include "core/status.h"
#include "ops/common/validate.h"

namespace spark {

constexpr uint32_t MAX_ROW_TENSORS = 6;

struct Rows {
    uint32_t dims;                // after folding; sizes of 1 are gone
    int64_t size[SPARK_MAX_NDIM]; // outermost first
    int64_t stride[MAX_ROW_TENSORS][SPARK_MAX_NDIM];
};

// Folds the first `leading` dimensions of the given views, which agree in shape.
Rows fold_rows(std::span<const View* const> views, uint32_t leading);

// The first view that does not fold to `most` dimensions together with those before it; views.size() if all do.
uint32_t first_unfoldable(std::span<const View* const> views, uint32_t leading, uint32_t most);

// A tensor of rows: row (i, j) starts at data + i * outer + j * inner elements. data 0 = absent.
struct RowTensor {
    spark_devptr data;
    int64_t outer, inner;
};

// The largest power of two that divides value; 256, which is more than any kernel asks for, for 0.
inline int64_t low_bit(int64_t value) { return value == 0 ? 256 : value & -value; }

// The same of the bytes of so many elements. Where these are more than 64 bits can say, the low ones are right.
inline int64_t low_bit(int64_t elements, uint32_t bits) {
    return low_bit(static_cast<int64_t>(static_cast<uint64_t>(elements) * bits / 8));
}

// Bytes that every row is aligned to: the largest power of two, at most 256, that divides the address and both strides.
int64_t row_alignment(const View& v, const RowTensor& rows);

// rows1 x rows0 rows of present tensors that agree in shape, one entry for each.
struct RowSet {
    int64_t rows1, rows0;
    RowTensor tensor[MAX_ROW_TENSORS];
};

// Folds all dimensions but the last of the given fields to two row dimensions, or says which field prevents it. The
// fields are present and not empty; x, the first, is the one that others are compared with.
spark_status fold_to_two(const ValidatedArgs& bound, std::span<const uint32_t> fields, RowSet& out, Report& report);

// Rows without a gap between them, in every tensor, become one row: its width may be anything where theirs was odd.
// width: elements of a row, one number for each tensor.
void join_rows(RowSet& rows, std::span<int64_t> width);

} // namespace spark

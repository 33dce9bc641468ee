// SPDX-License-Identifier: Apache-2.0
// Folding the leading dimensions of row-wise tensors into few: adjacent dimensions merge where the outer stride
// steps exactly over the inner ones, in every tensor at once.
//
//     shape [2, 3, 4, N], strides [96, 32, 8, 1], N = 8:   3 x 4 merge (32 = 4 * 8), 2 x 12 too (96 = 12 * 8)
#pragma once

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

} // namespace spark

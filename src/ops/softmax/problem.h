// SPDX-License-Identifier: Apache-2.0
// The checked softmax.
#pragma once

#include "ops/common/rows.h"
#include "ops/operator.h"
#include "ops/softmax/fields.h"

namespace spark {

// rows1 x rows0 rows of n elements; row (i, j) begins i * outer + j * inner elements from data.
struct Softmax {
    RowTensor x, y;
    int64_t n, rows1, rows0;
    float scale; // never 0
    uint32_t flags;
};

} // namespace spark

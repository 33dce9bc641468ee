// SPDX-License-Identifier: Apache-2.0
// The checked transform.
#pragma once

#include "ops/common/rows.h"
#include "ops/hadamard/fields.h"
#include "ops/operator.h"

namespace spark {

// rows1 x rows0 rows of n elements, in blocks of `size`; row (i, j) begins i * outer + j * inner elements from data.
struct Hadamard {
    RowTensor x, y;
    spark_devptr signs; // 0 = absent
    int64_t n, rows1, rows0;
    float scale;
    uint32_t size;
    bool signs_after;
};

} // namespace spark

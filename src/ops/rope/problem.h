// SPDX-License-Identifier: Apache-2.0
// The checked rotation.
#pragma once

#include "ops/operator.h"
#include "ops/rope/fields.h"

namespace spark {

// Head h of token (i, j) of a tensor starts at i * outer + j * inner + h * head elements.
struct HeadTensor {
    spark_devptr data;
    int64_t outer, inner, head;
};

struct Rope {
    HeadTensor x, y;
    spark_devptr positions, table, invalid_count; // the last two: 0 = absent
    int64_t tokens1, tokens0;                     // outer, inner
    int64_t heads, width, pairs;                  // H, D, R / 2
    int64_t table_rows, table_stride;
    uint64_t ratio; // of the rates of neighbouring pairs, theta^(-2/R), times 2^64
    uint32_t flags;
    bool positions64, table_f32, in_place;
};

} // namespace spark

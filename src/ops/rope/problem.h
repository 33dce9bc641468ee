// SPDX-License-Identifier: Apache-2.0
// The checked rotation.
#pragma once

#include "ops/operator.h"
#include "ops/rope/angles.h"
#include "ops/rope/fields.h"

namespace spark {

// Head h of token (i, j) of a tensor starts at i * outer + j * inner + h * head elements.
struct HeadTensor {
    spark_devptr data;
    int64_t outer, inner, head;
};

// Of a result of codes. block: elements that share a scale, 0: a head.
struct HeadCodes {
    HeadTensor scale;
    int64_t step, block, scale_bytes;
    bool made, powers; // scales that are written, not given; of powers of two
};

struct Rope {
    HeadTensor x, y;
    HeadCodes codes;          // where code_type is not 0
    uint32_t type, code_type; // dtypes
    Angles angles;
    spark_devptr positions, invalid_count; // the latter: 0 = absent
    int64_t tokens1, tokens0;              // outer, inner
    int64_t heads, width;                  // H, D
    uint32_t flags;
    bool positions64, in_place;
};

} // namespace spark

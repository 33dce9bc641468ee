// SPDX-License-Identifier: Apache-2.0
// The checked choice of tokens.
#pragma once

#include "ops/operator.h"
#include "ops/sampling/fields.h"

namespace spark {

struct Sample {
    spark_devptr logits, ids;
    spark_devptr temperatures, top_ks, top_ps, min_ps, seeds, offsets, invalid_count; // 0 = absent
    int64_t rows, n, stride; // logits: elements from one row to the next
    int64_t units;           // of 16 bytes, of a row
    uint64_t seed, offset;
    float temperature, top_p, min_p;
    int32_t top_k;
};

} // namespace spark

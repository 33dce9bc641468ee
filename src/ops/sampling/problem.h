// SPDX-License-Identifier: Apache-2.0
// The checked choice of tokens.
#pragma once

#include "core/divide.h"
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
    bool brain, wide; // of logits: BF16, F32
};

// Where eight blocks make a row: their warps, and the tokens of each, which are taken by so many at a time.
constexpr int64_t CLUSTER_WARPS = 128, MOST_TAKEN = 1024;
inline int64_t cluster_piece(int64_t n, int64_t taken) { return ceil_div(n, CLUSTER_WARPS * taken) * taken; }

} // namespace spark

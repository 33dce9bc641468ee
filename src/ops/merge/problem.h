// SPDX-License-Identifier: Apache-2.0
// The checked merge.
#pragma once

#include "ops/merge/fields.h"
#include "ops/operator.h"

namespace spark {

constexpr uint32_t MERGE_DIMS = 3;

// Row (i, j, k) of a tensor begins i * stride[0] + j * stride[1] + k * stride[2] elements from data. 0 = absent.
struct MergeTensor {
    spark_devptr data;
    int64_t stride[MERGE_DIMS];
};

// size[0] x size[1] x size[2] rows of d elements, of each `parts` states and one more.
struct Merge {
    MergeTensor x, x_lse, more, more_lse, y, y_lse;
    int64_t x_part, lse_part; // elements between the states of a row
    int64_t size[MERGE_DIMS];
    int64_t d, parts;
    uint32_t elem_bytes;
};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family pointwise.
#pragma once

#include "ops/common/coded.h"
#include "ops/operator.h"
#include "ops/pointwise/fields.h"

namespace spark {

// activation, glu and add: y = act(x), act(x) * z or x + z, as the contract says. rows1 x rows0 rows of n elements;
// rows that follow each other without a gap in all tensors count as one.
struct Pointwise {
    RowTensor x, z, y; // z absent: activation
    int64_t n, rows1, rows0;
    int64_t per_chunk; // elements of 16 bytes
    uint32_t activation, flags;
    float cap;   // of SOFTCAP
    Coded codes; // of y, where it is such
    CodedKind kind;
};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// The checked table lookup.
#pragma once

#include "ops/embedding/fields.h"
#include "ops/operator.h"

namespace spark {

struct Embedding {
    spark_devptr table, ids, y, invalid_count; // invalid_count 0 = absent
    int64_t rows, width, count;                // table rows V, row length D, number of ids
    int64_t table_stride, y_stride;            // elements from one row to the next
    uint32_t elem_bytes;
    bool ids64, zero_invalid;
};

} // namespace spark

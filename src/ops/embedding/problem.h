// SPDX-License-Identifier: Apache-2.0
// The checked table lookup, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

namespace spark {

struct Embedding {
    spark_devptr table, ids, y, invalid_count; // invalid_count 0 = absent
    int64_t rows, width, count;                // table rows V, row length D, number of ids
    int64_t table_stride, y_stride;            // elements from one row to the next
    uint32_t elem_bytes;
    bool ids64, zero_invalid;
};

// NAME_align: the largest power of two, at most 256, that divides the address and the row stride in bytes.
enum EmbeddingFact : uint32_t {
    EMB_WIDTH,
    EMB_ROWS,
    EMB_COUNT,
    EMB_ROW_BYTES,
    EMB_TABLE_ALIGN,
    EMB_Y_ALIGN,
    EMB_FACTS
};
constexpr const char* EMBEDDING_FACT_NAMES[] = {"width", "rows", "count", "row_bytes", "table_align", "y_align"};
static_assert(std::size(EMBEDDING_FACT_NAMES) == EMB_FACTS);

spark_status check_embedding(const Bound& bound, Work& work, Report& report);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// The checked choice of tokens, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

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

// logits_align: the largest power of two, at most 256, that divides the address and the row stride in bytes.
enum SampleFact : uint32_t { SAMPLE_N, SAMPLE_ROWS, SAMPLE_LOGITS_ALIGN, SAMPLE_FACTS };
constexpr const char* SAMPLE_FACT_NAMES[] = {"n", "rows", "logits_align"};
static_assert(std::size(SAMPLE_FACT_NAMES) == SAMPLE_FACTS);

spark_status check_sample(const Bound& bound, Work& work, Report& report);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// The checked append, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

namespace spark {

struct KvAppend {
    struct Side { // keys, or values; strides in elements
        spark_devptr from, cache;
        int64_t token, head; // of the new tokens
        int64_t cache_batch, cache_row, cache_head;
    };
    Side k, v;
    spark_devptr positions, batch, invalid_count; // batch 0 = absent
    int64_t tokens, batches, rows, heads, width;
    uint32_t elem_bytes;
    bool positions64, batch64;
};

// NAME_align: the largest power of two, at most 256, that divides the address and all strides in bytes.
enum KvFact : uint32_t {
    KV_TOKENS,
    KV_HEADS,
    KV_WIDTH,
    KV_HEAD_BYTES,
    KV_K_ALIGN,
    KV_V_ALIGN,
    KV_K_CACHE_ALIGN,
    KV_V_CACHE_ALIGN,
    KV_FACTS
};
constexpr const char* KV_FACT_NAMES[] = {"tokens",  "heads",   "width",         "head_bytes",
                                         "k_align", "v_align", "k_cache_align", "v_cache_align"};
static_assert(std::size(KV_FACT_NAMES) == KV_FACTS);

spark_status check_kv_append(const Bound& bound, Work& work, Report& report);

} // namespace spark

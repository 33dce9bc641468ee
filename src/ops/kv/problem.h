// SPDX-License-Identifier: Apache-2.0
// The checked append and gather, which are one problem, copied the other way; and the checked copy of pages.
#pragma once

#include "ops/kv/fields.h"
#include "ops/operator.h"

namespace spark {

// Of the codes of a cache: strides in scales; whole: the second one of NVFP4. made: of the numbers, and written.
struct KvScales {
    spark_devptr data; // 0 = 1
    int64_t batch, row, head, step;
    spark_devptr whole; // 0 = 1
    int64_t whole_batch;
    bool made;
};

struct KvRows {
    struct Side { // keys, or values; strides in elements, of codes of half a byte in bytes
        spark_devptr tokens, cache;
        int64_t token, head; // of the tokens
        int64_t cache_batch, cache_row, cache_head;
        KvScales scales; // where the cache has codes of the tokens' numbers
    };
    Side k, v;
    spark_devptr positions, batch, invalid_count; // batch 0 = absent
    spark_devptr table, table_first; // 0 = absent; [sequences, entries], table_seq from one to the next, or all entries
    int64_t table_seq, sequences, entries; // one after the other, and the first of each sequence
    int64_t tokens, batches, rows, heads, width;
    uint32_t elem_bytes;
    uint32_t codes, numbers; // dtypes of caches and of tokens, where these are codes of those; else 0: bits move
    bool positions64, batch64;
};

// What the caches are to the tokens, and their scales.
spark_status check_kv_codes(const ValidatedArgs& bound, bool gathers, KvRows& p, Report& report);

// The arguments of kv_append, kv_gather (gathers) or rope_append, whose first fields are the same; heads not folded.
spark_status fill_kv_rows(const ValidatedArgs& bound, bool gathers, KvRows& p, Report& report);
// Bytes that these name: of positions, tokens, rows and their scales.
uint64_t bytes_of_kv_rows(const ValidatedArgs& bound, const KvRows& p);

struct KvPages {
    struct Cache { // strides in elements
        spark_devptr data;
        int64_t batch, row, head;
    };
    Cache k, v, k_cache, v_cache; // from the first two to the others
    spark_devptr pairs, invalid_count;
    int64_t count, sources, batches, rows, heads, width;
    uint32_t elem_bytes;
    bool pairs64;
};

} // namespace spark

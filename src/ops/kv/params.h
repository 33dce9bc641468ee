// SPDX-License-Identifier: Apache-2.0
// Parameters that kernels of kv_append, kv_gather and rope_append have in common, by name.
#pragma once

#include "ops/kv/problem.h"

namespace spark {

// What tells of the tokens and of their rows; strides in elements.
template <class Params> void set_kv_rows(const KvRows& p, Params& params) {
    params.k = p.k.tokens, params.k_token = p.k.token, params.k_head = p.k.head;
    params.v = p.v.tokens, params.v_token = p.v.token, params.v_head = p.v.head;
    params.k_cache = p.k.cache, params.k_cache_batch = p.k.cache_batch;
    params.k_cache_row = p.k.cache_row, params.k_cache_head = p.k.cache_head;
    params.v_cache = p.v.cache, params.v_cache_batch = p.v.cache_batch;
    params.v_cache_row = p.v.cache_row, params.v_cache_head = p.v.cache_head;
    params.positions = p.positions, params.batch = p.batch, params.invalid_count = p.invalid_count;
    params.tokens = p.tokens, params.batches = p.batches, params.rows = p.rows;
    params.table = p.table, params.table_seq = p.table_seq, params.table_first = p.table_first;
    params.sequences = p.sequences, params.entries = p.entries;
}

// The scales of caches of codes; strides in bytes.
template <class Params> void set_kv_scales(const KvRows& p, Params& params) {
    const KvScales &k = p.k.scales, &v = p.v.scales;
    const int64_t scale = p.codes == SPARK_DTYPE_E2M1 ? 1 : 4;
    params.k_scale = k.data, params.k_scale_batch = k.batch * scale, params.k_scale_row = k.row * scale;
    params.k_scale_head = k.head * scale, params.k_scale_step = k.step * scale;
    params.v_scale = v.data, params.v_scale_batch = v.batch * scale, params.v_scale_row = v.row * scale;
    params.v_scale_head = v.head * scale, params.v_scale_step = v.step * scale;
    params.k_whole = k.whole, params.k_whole_batch = 4 * k.whole_batch;
    params.v_whole = v.whole, params.v_whole_batch = 4 * v.whole_batch;
}

} // namespace spark

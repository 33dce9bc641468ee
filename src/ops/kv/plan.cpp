// SPDX-License-Identifier: Apache-2.0
// KvRows or KvPages and a kernel -> Launch; and the operators' entries in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/kv/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

constexpr int64_t UNITS_PER_STEP = 64;

template <class Problem> int64_t units_of(const Problem& p, const auto& kernel) {
    return p.heads * (kernel.VEC > 1 ? p.width * p.elem_bytes / kernel.VEC : p.width);
}

// A warp to a token, over x; units of VEC bytes or of one element over y.
void plan(const CheckedOp& work, const Row&, const kernels::kv_kernel& kernel, Plan& calls) {
    const KvRows& p = work.as<KvRows>();
    const kernels::kv_params params = {
        .k = p.k.tokens,
        .v = p.v.tokens,
        .positions = p.positions,
        .batch = p.batch,
        .k_cache = p.k.cache,
        .v_cache = p.v.cache,
        .invalid_count = p.invalid_count,
        .k_token = p.k.token,
        .k_head = p.k.head,
        .v_token = p.v.token,
        .v_head = p.v.head,
        .k_cache_batch = p.k.cache_batch,
        .k_cache_row = p.k.cache_row,
        .k_cache_head = p.k.cache_head,
        .v_cache_batch = p.v.cache_batch,
        .v_cache_row = p.v.cache_row,
        .v_cache_head = p.v.cache_head,
        .tokens = p.tokens,
        .batches = p.batches,
        .rows = p.rows,
        .heads = p.heads,
        .width = p.width,
        .table = p.table,
        .table_seq = p.table_seq,
        .sequences = p.sequences,
        .entries = p.entries,
        .table_first = p.table_first,
        .flags = kernels::kv_flags{.positions_i64 = p.positions64, .batch_i64 = p.batch64},
    };
    calls.add(kernel, params, ceil_div(units_of(p, kernel), UNITS_PER_STEP));
}

// A warp to a step of a pair's pages.
void plan(const CheckedOp& work, const Row&, const kernels::kv_copy_kernel& kernel, Plan& calls) {
    const KvPages& p = work.as<KvPages>();
    const kernels::kv_copy_params params = {
        .pairs = p.pairs,
        .k = p.k.data,
        .v = p.v.data,
        .k_cache = p.k_cache.data,
        .v_cache = p.v_cache.data,
        .invalid_count = p.invalid_count,
        .k_batch = p.k.batch,
        .k_row = p.k.row,
        .k_head = p.k.head,
        .v_batch = p.v.batch,
        .v_row = p.v.row,
        .v_head = p.v.head,
        .k_cache_batch = p.k_cache.batch,
        .k_cache_row = p.k_cache.row,
        .k_cache_head = p.k_cache.head,
        .v_cache_batch = p.v_cache.batch,
        .v_cache_row = p.v_cache.row,
        .v_cache_head = p.v_cache.head,
        .count = p.count,
        .sources = p.sources,
        .batches = p.batches,
        .rows = p.rows,
        .heads = p.heads,
        .width = p.width,
        .flags = kernels::kv_copy_flags{.pairs_i64 = p.pairs64},
    };
    int64_t steps = ceil_div(p.rows * units_of(p, kernel), UNITS_PER_STEP);
    if (__builtin_mul_overflow(p.count, steps, &steps)) steps = INT64_MAX; // pairs that name rows again and again
    calls.add(kernel, params, ceil_div(steps, kernel.block / 32));
}

constexpr Draft DRAFTS[] = {
#include "ops/kv/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, KV_FACT_NAMES>();

} // namespace

extern const Operator KV_APPEND = {SPARK_OP_KV_APPEND, TABLE, KV_FACT_NAMES, check_kv_append, nullptr};
extern const Operator KV_GATHER = {SPARK_OP_KV_GATHER, TABLE, KV_FACT_NAMES, check_kv_gather, nullptr};
extern const Operator KV_COPY = {SPARK_OP_KV_COPY, TABLE, KV_FACT_NAMES, check_kv_copy, nullptr};

} // namespace spark

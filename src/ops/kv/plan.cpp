// SPDX-License-Identifier: Apache-2.0
// KvRows and a kernel -> Launch; and the operators' entries in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/kv/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

constexpr int64_t UNITS_PER_STEP = 64;

// A warp to a token, over x; units of VEC bytes or of one element over y.
void plan(const CheckedOp& work, const Row&, const kernels::kv_kernel& kernel, Plan& calls) {
    const KvRows& p = work.as<KvRows>();
    int64_t units = kernel.VEC > 1 ? p.width * p.elem_bytes / kernel.VEC : p.width;
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
        .flags = kernels::kv_flags{.positions_i64 = p.positions64, .batch_i64 = p.batch64},
    };
    calls.add(kernel, params, ceil_div(p.heads * units, UNITS_PER_STEP));
}

constexpr auto ROWS = make_table({
#define ROW(...) SPARK_ROW(KV_FACT_NAMES, __VA_ARGS__)
#include "ops/kv/table.inc"
#undef ROW
});

} // namespace

extern const Operator KV_APPEND = {SPARK_OP_KV_APPEND, ROWS, KV_FACT_NAMES, check_kv_append, nullptr};
extern const Operator KV_GATHER = {SPARK_OP_KV_GATHER, ROWS, KV_FACT_NAMES, check_kv_gather, nullptr};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// KvRows or KvPages and a kernel -> Launch; and the operators' entries in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/common/coded.h"
#include "ops/kv/params.h"
#include "ops/kv/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

constexpr int64_t UNITS_PER_STEP = 64;
constexpr uint32_t NV_BLOCK = 16;
constexpr int64_t MANY_TOKENS = 4096; // a warp each fills any chip

template <class Problem> int64_t units_of(const Problem& p, const auto& kernel) {
    return p.heads * (kernel.VEC > 1 ? p.width * p.elem_bytes / kernel.VEC : p.width);
}

template <class Params> Params params_of(const KvRows& p) {
    Params params{};
    set_kv_rows(p, params);
    params.heads = p.heads;
    params.width = p.width;
    return params;
}

// A warp to a token, over x; units of VEC bytes or of one element over y.
void plan(const CheckedOp& work, const Row&, const kernels::kv_kernel& kernel, Plan& calls) {
    const KvRows& p = work.as<KvRows>();
    auto params = params_of<kernels::kv_params>(p);
    params.flags = kernels::kv_flags{.positions_i64 = p.positions64, .batch_i64 = p.batch64};
    calls.add(kernel, params, ceil_div(units_of(p, kernel), UNITS_PER_STEP));
}

// The same with teams of 2^shift lanes to a head, as many as have something to do, and two heads a team over y
// where tokens are few.
void plan(const CheckedOp& work, const Row&, const kernels::kv_codes_kernel& kernel, Plan& calls) {
    const KvRows& p = work.as<KvRows>();
    const KvScales &k = p.k.scales, &v = p.v.scales;
    auto params = params_of<kernels::kv_codes_params>(p);
    const int64_t number = p.numbers == SPARK_DTYPE_F32 ? 4 : 2;
    params.k_token *= number, params.k_head *= number, params.v_token *= number, params.v_head *= number;
    set_kv_scales(p, params);
    params.largest = largest_code(p.codes);
    const uint32_t least = p.codes == SPARK_DTYPE_E2M1 ? NV_BLOCK / kernel.RUN : 1;
    while (params.team_shift < 5 && (1u << params.team_shift) * kernel.RUN < p.width) ++params.team_shift;
    while (1u << params.team_shift < least) ++params.team_shift;
    params.flags = kernels::kv_codes_flags{.positions_i64 = p.positions64,
                                           .batch_i64 = p.batch64,
                                           .f32 = p.numbers == SPARK_DTYPE_F32,
                                           .f16 = p.numbers == SPARK_DTYPE_F16,
                                           .e5m2 = p.codes == SPARK_DTYPE_E5M2,
                                           .k_made = k.made,
                                           .v_made = v.made};
    const int64_t steps = ceil_div(p.heads, int64_t{64} >> params.team_shift);
    calls.add(kernel, params, p.tokens < MANY_TOKENS ? steps : 1);
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

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/kv/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, KV_FACT_NAMES>();

} // namespace

extern const Operator KV_APPEND = {SPARK_OP_KV_APPEND, TABLE, KV_FACT_NAMES, check_kv_append, nullptr};
extern const Operator KV_GATHER = {SPARK_OP_KV_GATHER, TABLE, KV_FACT_NAMES, check_kv_gather, nullptr};
extern const Operator KV_COPY = {SPARK_OP_KV_COPY, TABLE, KV_FACT_NAMES, check_kv_copy, nullptr};

} // namespace spark

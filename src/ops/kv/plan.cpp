// SPDX-License-Identifier: Apache-2.0
// KvAppend and a kernel -> Launch; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/kv/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, KV_FACT_NAMES),
#include "ops/kv/table.inc"
#undef ROW
});

constexpr int64_t UNITS_PER_STEP = 64, WARP = 32, MAX_GRID_Y = 65535;
constexpr uint32_t POSITIONS_ARE_I64 = 1, BATCH_IS_I64 = 2;

// A warp to a token, over x; units of VEC bytes or of one element over y.
void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    Launch& launch = calls.add(kernel);
    const KvAppend& p = work.as<KvAppend>();
    int64_t vec = kernel.constant("VEC"), units = vec > 1 ? p.width * p.elem_bytes / vec : p.width;
    int64_t x = ceil_div(p.tokens, kernel.block / WARP), y = ceil_div(p.heads * units, UNITS_PER_STEP);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(x, INT32_MAX));
    launch.grid[1] = static_cast<uint32_t>(std::min(y, MAX_GRID_Y));
    launch.grid[2] = 1;
    launch.set_params(kernels::kv_append_params{
        .k = p.k.from,
        .v = p.v.from,
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
        .flags = (p.positions64 ? POSITIONS_ARE_I64 : 0) | (p.batch64 ? BATCH_IS_I64 : 0),
    });
}

} // namespace

extern const Operator KV_APPEND = {SPARK_OP_KV_APPEND, ROWS, KV_FACT_NAMES, check_kv_append, plan, nullptr};

} // namespace spark

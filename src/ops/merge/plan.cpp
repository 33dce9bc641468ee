// SPDX-License-Identifier: Apache-2.0
// Merge and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>
#include <bit>

#include "core/divide.h"
#include "ops/merge/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// Blocks step from this many an SM on.
constexpr int64_t WARP = 32, MOST_AN_SM = 32, UNIT_BYTES = 16;

// Lanes that share a row: a power of two, so many that each has one unit of it, or all of a warp.
uint32_t team_of(const Merge& p, int64_t unit) {
    return std::bit_ceil(static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(p.d, unit), 1, WARP)));
}

void plan(const CheckedOp& work, const Row&, const kernels::merge_states_kernel& kernel, Plan& calls) {
    const Merge& p = work.as<Merge>();
    const uint32_t team = team_of(p, kernel.STEP == 1 ? 1 : UNIT_BYTES / p.elem_bytes);
    const int64_t rows = work.facts[MERGE_ROWS], blocks = ceil_div(rows, kernel.block / team);
    const kernels::merge_states_params params = {
        .x = p.x.data,
        .x_lse = p.x_lse.data,
        .more = p.more.data,
        .more_lse = p.more_lse.data,
        .y = p.y.data,
        .y_lse = p.y_lse.data,
#define STRIDES(name) \
    .name##_stride2 = p.name.stride[0], .name##_stride1 = p.name.stride[1], .name##_stride0 = p.name.stride[2]
        STRIDES(x),
        STRIDES(x_lse),
        STRIDES(more),
        STRIDES(more_lse),
        STRIDES(y),
        STRIDES(y_lse),
#undef STRIDES
        .x_part = p.x_part,
        .lse_part = p.lse_part,
        .rows2 = p.size[0],
        .rows1 = p.size[1],
        .rows0 = p.size[2],
        .d = p.d,
        .parts = p.parts,
        .team_shift = static_cast<uint32_t>(std::countr_zero(team)),
    };
    calls.add(kernel, params, std::min(blocks, MOST_AN_SM * work.target->sms));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/merge/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, MERGE_FACT_NAMES>();

} // namespace

extern const Operator MERGE_STATES = {SPARK_OP_MERGE_STATES, TABLE, MERGE_FACT_NAMES, check_merge_states, nullptr};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Rope and a kernel -> Launch; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "core/dtype.h"
#include "ops/common/coded.h"
#include "ops/rope/problem.h"
#include "ops/rope/teams.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr uint32_t WARP = 32;

// rows: tokens of a block at a time; 0 where its threads have a pair each.
consteval Tile tile_of(const kernels::rope_kernel& kernel) {
    constexpr uint32_t A_CHUNK = 80;
    return {.rows = kernel.block / kernel.HALF, .syncs = 1, .step = {.issued = kernel.block / WARP * A_CHUNK}};
}
consteval Tile tile_of(const kernels::rope_generic_kernel& kernel) {
    constexpr uint32_t A_PAIR = 16;
    return {.step = {.issued = kernel.block / WARP * A_PAIR}};
}

// A team of lanes has a head; elements by themselves are more instructions.
consteval Tile tile_of(const kernels::rope_append_kernel& kernel) {
    constexpr uint32_t RUNS = 60, ELEMENTS = 150;
    return {.step = {.issued = kernel.block / WARP * (kernel.STEP == 1 ? ELEMENTS : RUNS)}};
}

constexpr int64_t CHUNK = 8; // pairs that a thread turns at a time, or one in the generic kernel

int64_t tokens_of(const Rope& p) { return p.tokens0 * p.tokens1; }
// Elements of a head that are only copied.
int64_t rest_of(const Rope& p) { return p.in_place ? 0 : p.width - 2 * p.angles.pairs; }

// A block does block / HALF tokens at a time; the generic kernel, without HALF, a pair or a copied element a thread.
int64_t blocks_of(const Rope& p, const Row& row) {
    const int64_t units = row.tile.rows != 0 ? tokens_of(p) : tokens_of(p) * (p.angles.pairs + rest_of(p));
    const int64_t blocks = ceil_div(units, row.tile.rows != 0 ? uint32_t{row.tile.rows} : row.kernel->block);
    return std::clamp<int64_t>(blocks, 1, INT32_MAX);
}

template <class Of> void plan(const CheckedOp& work, const Row&, const Of& kernel, Plan& calls) {
    const Rope& p = work.as<Rope>();
    calls.add(kernel, {
                          .positions = p.positions,
                          .table = p.angles.table,
                          .x = p.x.data,
                          .y = p.y.data,
                          .invalid_count = p.invalid_count,
                          .x_head = p.x.head,
                          .x_stride0 = p.x.inner,
                          .x_stride1 = p.x.outer,
                          .y_head = p.y.head,
                          .y_stride0 = p.y.inner,
                          .y_stride1 = p.y.outer,
                          .table_rows = p.angles.table_rows,
                          .table_stride = p.angles.table_stride,
                          .tokens0 = p.tokens0,
                          .tokens1 = p.tokens1,
                          .heads = p.heads,
                          .pairs = p.angles.pairs,
                          .rest = rest_of(p),
                          .ratio = p.angles.ratio,
                          .flags = kernels::rope_flags{.positions_i64 = p.positions64,
                                                       .table_f32 = p.angles.table_f32,
                                                       .interleaved = (p.flags & SPARK_ROPE_INTERLEAVED) != 0},
                      });
}

template <class Params> void set_places(const Rope& p, Params& params) {
    const int64_t elem = dtype_info(p.type).bits / 8, size = p.codes.scale_bytes;
    const HeadTensor& scale = p.codes.scale;
    params.k = p.x.data, params.k_token = p.x.inner * elem, params.k_head = p.x.head * elem;
    params.k_cache = p.y.data;
    params.k_cache_batch = p.y.outer, params.k_cache_row = p.y.inner, params.k_cache_head = p.y.head;
    params.k_scale = scale.data, params.k_scale_batch = scale.outer * size, params.k_scale_row = scale.inner * size;
    params.k_scale_head = scale.head * size, params.k_scale_step = p.codes.step * size;
}

// Codes: tokens and their heads as keys without values, which rows of a cache hold in their order.
void plan(const CheckedOp& work, const Row&, const kernels::rope_append_kernel& kernel, Plan& calls) {
    const Rope& p = work.as<Rope>();
    kernels::rope_append_params params{};
    set_places(p, params);
    params.turned = p.positions, params.invalid_count = p.invalid_count;
    params.rows = p.tokens0, params.heads = static_cast<uint32_t>(p.heads);
    Angles angles = p.angles;
    if (angles.pairs == 0) angles.table = 0; // whose rows are empty, so that none is outside
    const int64_t parts = set_teams(angles, p.width, tokens_of(p), p.heads, kernel.block, params);
    if (p.codes.block != 0) params.group_mask = static_cast<uint32_t>(p.codes.block / HEAD_UNIT - 1);
    params.largest = largest_code(p.code_type);
    params.flags = kernels::rope_append_flags{.turned_i64 = p.positions64,
                                              .f16 = p.type == SPARK_DTYPE_F16,
                                              .angles_f32 = p.angles.table_f32,
                                              .interleaved = (p.flags & SPARK_ROPE_INTERLEAVED) != 0,
                                              .codes = true,
                                              .e5m2 = p.code_type == SPARK_DTYPE_E5M2,
                                              .k_made = p.codes.made,
                                              .blocks = p.codes.block != 0,
                                              .powers = p.codes.powers,
                                              .i8 = p.code_type == SPARK_DTYPE_I8,
                                              .f32 = p.type == SPARK_DTYPE_F32};
    calls.add(kernel, params, parts);
}

// Threads go round the heads of a block's tokens, a unit of eight pairs or of one at a time; each angle is made once.
void load(const CheckedOp& work, const Row& row, Load& load) {
    const Rope& p = work.as<Rope>();
    int64_t units = row.tile.rows != 0 ? row.tile.rows * p.heads * ceil_div(p.angles.pairs + rest_of(p) / 2, CHUNK) : 0;
    load.blocks = blocks_of(p, row);
    load.steps = 1 + (units != 0 ? ceil_div(units, row.kernel->block) : p.heads);
    load.longest = load.steps;
    load.bytes = work.bytes;
    load.launches = 1, load.merged = 0, load.cost = 0;
    load.stages = load.filled = 0, load.syncs = row.tile.syncs, load.rounds = 0, load.written = load.late = 0;
    load.later = 0;
    load.step = row.tile.step;
    load.step.fetched = static_cast<uint32_t>(std::min<uint64_t>(
        quotient(quotient(work.bytes, static_cast<uint64_t>(load.blocks)), static_cast<uint64_t>(load.steps)),
        UINT32_MAX));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/rope/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, ROPE_FACT_NAMES>();

} // namespace

extern const Operator ROPE = {SPARK_OP_ROPE, TABLE, ROPE_FACT_NAMES, check_rope, load, true};

} // namespace spark

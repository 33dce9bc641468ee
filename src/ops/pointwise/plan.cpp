// SPDX-License-Identifier: Apache-2.0
// Pointwise and a kernel -> Plan; and the entries of activation, glu and add, which share problem, kernels and plan.
#include <algorithm>

#include "core/divide.h"
#include "ops/common/across.h"
#include "ops/common/row_load.h"
#include "ops/pointwise/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// A unit a thread up to so many blocks an SM of this device; then two; and from MOST_AN_SM on blocks step, since each
// block counts before its first unit. Where rows begin at any element that is half of a unit's work: twice as many
// blocks as the device holds.
constexpr int64_t MANY_AN_SM = 16, MOST_AN_SM = 64;

consteval Tile tile_of(const Kernel&) { return {}; }

// What kernels of both contracts are told.
template <class Params> Params tensors_of(const Pointwise& p) {
    Params params{};
    params.x = p.x.data, params.x_stride0 = p.x.inner, params.x_stride1 = p.x.outer;
    params.z = p.z.data, params.z_stride0 = p.z.inner, params.z_stride1 = p.z.outer;
    params.y = p.y.data, params.y_stride0 = p.y.inner, params.y_stride1 = p.y.outer;
    params.activation = p.activation, params.cap = p.cap;
    return params;
}

void plan(const CheckedOp& work, const Row& row, const kernels::pointwise_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    // Where rows begin at any element, a unit may be short at either end.
    const bool any = kernel.ALIGN == 1;
    int64_t unaligned = any ? p.per_chunk - 1 : 0;
    int64_t across = ceil_div(p.n + unaligned, p.per_chunk);
    int64_t units = across * p.rows0 * p.rows1, blocks = ceil_div(units, kernel.block);
    int64_t sms = work.target->sms;
    auto params = tensors_of<kernels::pointwise_params>(p);
    params.n = p.n, params.rows0 = p.rows0, params.rows1 = p.rows1;
    params.flags = kernels::pointwise_flags{.round_activation = (p.flags & SPARK_GLU_ROUND_ACTIVATION) != 0};
    int64_t grid = std::clamp(ceil_div(blocks, 2), std::min(blocks, MANY_AN_SM * sms), MOST_AN_SM * sms);
    if (any) grid = std::min(blocks, 2 * held_blocks(*work.target, row));
    count_across(params, across, grid * kernel.block);
    calls.add(kernel, params, grid);
}

void plan(const CheckedOp& work, const Row& row, const kernels::pointwise_codes_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    auto params = tensors_of<kernels::pointwise_codes_params>(p);
    auto flags = put_team<kernels::pointwise_codes_flags>(p.codes, p.kind, kernel, params);
    flags.round_activation = (p.flags & SPARK_GLU_ROUND_ACTIVATION) != 0;
    const int64_t size = number_bytes(p.codes);
    params.x_stride0 *= size, params.x_stride1 *= size;
    params.z_stride0 *= size, params.z_stride1 *= size;
    params.flags = flags;
    const int64_t blocks = put_blocks(kernel, held_blocks(*work.target, row), params);
    calls.add(kernel, params, blocks);
}

void plan(const CheckedOp& work, const Row& row, const kernels::pointwise_codes_kept_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    const int64_t size = number_bytes(p.codes), rows = p.codes.rows0;
    calls.add(kernel,
              {.x = p.x.data,
               .z = p.z.data,
               .y = p.y.data,
               .scale = p.codes.scale.data,
               .x_stride0 = static_cast<uint32_t>(p.x.inner * size),
               .z_stride0 = static_cast<uint32_t>(p.z.inner * size),
               .y_stride0 = static_cast<uint32_t>(p.y.inner),
               .scale_line = static_cast<uint32_t>(p.codes.scale.row * p.kind.scale_bytes),
               .n = static_cast<uint32_t>(p.codes.n),
               .numbers = static_cast<uint32_t>(rows),
               .amax_floor = p.codes.amax_floor,
               .largest = largest_code(p.codes.codes),
               .bump = p.codes.bump,
               .activation = p.activation,
               .flags = kernels::pointwise_codes_kept_flags{.i8 = p.codes.codes == SPARK_DTYPE_I8,
                                                            .e5m2 = p.codes.codes == SPARK_DTYPE_E5M2}},
              std::min(rows, held_blocks(*work.target, row)));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/pointwise/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, POINTWISE_FACT_NAMES>();

} // namespace

extern const Operator ACTIVATION = {SPARK_OP_ACTIVATION, TABLE, POINTWISE_FACT_NAMES, check_activation, nullptr};
extern const Operator GLU = {SPARK_OP_GLU, TABLE, POINTWISE_FACT_NAMES, check_glu, nullptr};
extern const Operator ADD = {SPARK_OP_ADD, TABLE, POINTWISE_FACT_NAMES, check_add, nullptr};

} // namespace spark

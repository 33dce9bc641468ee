// SPDX-License-Identifier: Apache-2.0
// Pointwise and a kernel -> Plan; and the entries of activation, glu and add, which share problem, kernels and plan.
#include <algorithm>

#include "core/divide.h"
#include "ops/pointwise/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// A unit a thread up to so many blocks an SM of this device; then two, the most that a thread asks for at once; and
// from MOST_AN_SM on blocks step, since each block counts before its first unit.
constexpr int64_t MANY_AN_SM = 16, MOST_AN_SM = 64;

consteval Tile tile_of(const Kernel&) { return {}; }

// A product with it is at most 1 less than the quotient.
uint64_t inverse(int64_t divisor) { return UINT64_MAX / static_cast<uint64_t>(std::max<int64_t>(divisor, 1)); }

void plan(const CheckedOp& work, const Row&, const kernels::pointwise_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    // Where rows begin at any element, a unit may be short at either end.
    int64_t unaligned = kernel.ALIGN == 1 ? p.per_chunk - 1 : 0;
    int64_t across = ceil_div(p.n + unaligned, p.per_chunk);
    int64_t units = across * p.rows0 * p.rows1, blocks = ceil_div(units, kernel.block);
    int64_t sms = work.target->sms;
    const kernels::pointwise_params params = {
        .x = p.x.data,
        .z = p.z.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .z_stride0 = p.z.inner,
        .z_stride1 = p.z.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .across = across,
        .across_inverse = inverse(across),
        .rows0_inverse = inverse(p.rows0),
        .activation = p.activation,
        .flags = kernels::pointwise_flags{.round_activation = (p.flags & SPARK_GLU_ROUND_ACTIVATION) != 0},
    };
    calls.add(kernel, params, std::clamp(ceil_div(blocks, 2), std::min(blocks, MANY_AN_SM * sms), MOST_AN_SM * sms));
}

void plan(const CheckedOp& work, const Row&, const kernels::pointwise_codes_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    kernels::pointwise_codes_params params{
        .x = p.x.data,
        .z = p.z.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .z_stride0 = p.z.inner,
        .z_stride1 = p.z.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .activation = p.activation,
    };
    auto flags = put_team<kernels::pointwise_codes_flags>(p.codes, p.kind, kernel, params);
    flags.round_activation = (p.flags & SPARK_GLU_ROUND_ACTIVATION) != 0;
    params.flags = flags;
    calls.add(kernel, params);
}

constexpr Draft DRAFTS[] = {
#include "ops/pointwise/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, POINTWISE_FACT_NAMES>();

} // namespace

extern const Operator ACTIVATION = {SPARK_OP_ACTIVATION, TABLE, POINTWISE_FACT_NAMES, check_activation, nullptr};
extern const Operator GLU = {SPARK_OP_GLU, TABLE, POINTWISE_FACT_NAMES, check_glu, nullptr};
extern const Operator ADD = {SPARK_OP_ADD, TABLE, POINTWISE_FACT_NAMES, check_add, nullptr};

} // namespace spark

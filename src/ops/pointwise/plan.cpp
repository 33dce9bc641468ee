// SPDX-License-Identifier: Apache-2.0
// Pointwise and a kernel -> Plan; and the entries of activation, glu and add, which share problem, kernels and plan.
#include <algorithm>

#include "core/divide.h"
#include "ops/pointwise/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// A unit a thread up to so many blocks an SM of this device; then two, the most that a thread asks for at once; and
// from MOST_AN_SM on blocks step, since each block divides before its first unit.
constexpr int64_t MANY_AN_SM = 16, MOST_AN_SM = 64;

consteval Tile tile_of(const Kernel&) { return {}; }

void plan(const CheckedOp& work, const Row&, const kernels::pointwise_kernel& kernel, Plan& calls) {
    const Pointwise& p = work.as<Pointwise>();
    int64_t per_unit = kernel.STEP == 1 ? 1 : p.per_chunk;
    int64_t units = ceil_div(p.n, per_unit) * p.rows0 * p.rows1, blocks = ceil_div(units, kernel.block);
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
        .activation = p.activation,
        .flags = kernels::pointwise_flags{.round_activation = (p.flags & SPARK_GLU_ROUND_ACTIVATION) != 0},
    };
    calls.add(kernel, params, std::clamp(ceil_div(blocks, 2), std::min(blocks, MANY_AN_SM * sms), MOST_AN_SM * sms));
}

constexpr auto ROWS = make_table({
#define ROW(...) SPARK_ROW(POINTWISE_FACT_NAMES, __VA_ARGS__)
#include "ops/pointwise/table.inc"
#undef ROW
});

} // namespace

extern const Operator ACTIVATION = {SPARK_OP_ACTIVATION, ROWS, POINTWISE_FACT_NAMES, check_activation, nullptr};
extern const Operator GLU = {SPARK_OP_GLU, ROWS, POINTWISE_FACT_NAMES, check_glu, nullptr};
extern const Operator ADD = {SPARK_OP_ADD, ROWS, POINTWISE_FACT_NAMES, check_add, nullptr};

} // namespace spark

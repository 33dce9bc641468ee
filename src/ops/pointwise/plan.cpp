// SPDX-License-Identifier: Apache-2.0
// Pointwise and a kernel -> Plan; and the entries of activation, glu and add, which share problem, kernels and plan.
#include <algorithm>

#include "core/divide.h"
#include "ops/pointwise/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, POINTWISE_FACT_NAMES),
#include "ops/pointwise/table.inc"
#undef ROW
});

// A unit a thread up to so many waves of blocks on this device; then two, the most that a thread asks for at once; and
// from MOST_WAVES on blocks step.
constexpr int64_t MANY_WAVES = 2, MOST_WAVES = 8;

void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    Launch& launch = calls.add(kernel);
    const Pointwise& p = work.as<Pointwise>();
    int64_t per_unit = kernel.constant("STEP") == 1 ? 1 : p.per_chunk;
    int64_t units = ceil_div(p.n, per_unit) * p.rows0 * p.rows1, blocks = ceil_div(units, kernel.block);
    int64_t wave = int64_t{work.target->sms} * work.target->resident[kernel.index];
    launch.grid[0] =
        static_cast<uint32_t>(std::clamp(ceil_div(blocks, 2), std::min(blocks, MANY_WAVES * wave), MOST_WAVES * wave));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::pointwise_params{
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
        .flags = p.flags,
    });
}

} // namespace

extern const Operator ACTIVATION = {SPARK_OP_ACTIVATION, ROWS, POINTWISE_FACT_NAMES, check_activation, plan, nullptr};
extern const Operator GLU = {SPARK_OP_GLU, ROWS, POINTWISE_FACT_NAMES, check_glu, plan, nullptr};
extern const Operator ADD = {SPARK_OP_ADD, ROWS, POINTWISE_FACT_NAMES, check_add, plan, nullptr};

} // namespace spark

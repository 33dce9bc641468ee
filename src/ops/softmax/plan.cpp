// SPDX-License-Identifier: Apache-2.0
// Softmax and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/softmax/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr Row ROWS[] = {
#define ROW(kernel, prefer, because) make_row(kernels::kernel, prefer, because, SOFTMAX_FACT_NAMES),
#include "ops/softmax/table.inc"
#undef ROW
};

constexpr double LOG2_E = 1.4426950408889634;
constexpr uint32_t OWN_FLAGS = 0xffffff00u;

// LANES threads do a row, so that a block does THREADS / LANES at a time; kernels without LANES do one.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    Launch& launch = calls.add(kernel);
    const Softmax& p = work.as<Softmax>();
    int64_t lanes = kernel.constant("LANES"), at_a_time = lanes != 0 ? kernel.block / lanes : 1;
    int64_t blocks = (p.rows0 * p.rows1 + at_a_time - 1) / at_a_time;
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(blocks, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::softmax_params{
        .x = p.x.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .scale = static_cast<float>(p.scale * LOG2_E),
        .flags = p.flags & OWN_FLAGS,
    });
}

} // namespace

extern const Operator SOFTMAX = {SPARK_OP_SOFTMAX, ROWS, SOFTMAX_FACT_NAMES, 1u << SOFTMAX_ROWS, check_softmax, plan};

} // namespace spark

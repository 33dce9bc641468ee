// SPDX-License-Identifier: Apache-2.0
// RmsNorm and a kernel -> Plan; and the entries of rmsnorm, l2norm and layernorm, which share problem, kernels, plan.
#include <algorithm>

#include "ops/norm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr Row ROWS[] = {
#define ROW(kernel, prefer, because) make_row(kernels::kernel, prefer, because, NORM_FACT_NAMES),
#include "ops/norm/table.inc"
#undef ROW
};

constexpr uint32_t WEIGHT_IS_F32 = 1, BIAS_IS_F32 = 2, CENTRE = 4; // beside the operator's own flags, bits 8 and up
constexpr uint32_t OWN_FLAGS = 0xffffff00u;

// LANES threads do a row, so that a block does THREADS / LANES at a time; kernels without LANES do one.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    Launch& launch = calls.add(kernel);
    const RmsNorm& p = work.as<RmsNorm>();
    int64_t lanes = kernel.constant("LANES"), at_a_time = lanes != 0 ? kernel.block / lanes : 1;
    int64_t blocks = (p.rows0 * p.rows1 + at_a_time - 1) / at_a_time;
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(blocks, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::rmsnorm_params{
        .x = p.x.data,
        .weight = p.weight,
        .bias = p.bias,
        .residual = p.residual.data,
        .y = p.y.data,
        .residual_out = p.residual_out.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .residual_stride0 = p.residual.inner,
        .residual_stride1 = p.residual.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .residual_out_stride0 = p.residual_out.inner,
        .residual_out_stride1 = p.residual_out.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .eps = p.eps,
        .scale = p.scale,
        .flags = (p.flags & OWN_FLAGS) | (p.weight_f32 ? WEIGHT_IS_F32 : 0) | (p.bias_f32 ? BIAS_IS_F32 : 0) |
                 (p.centre ? CENTRE : 0),
    });
}

} // namespace

extern const Operator RMSNORM = {SPARK_OP_RMSNORM, ROWS, NORM_FACT_NAMES, 1u << NORM_ROWS, check_rmsnorm, plan};
extern const Operator L2NORM = {SPARK_OP_L2NORM, ROWS, NORM_FACT_NAMES, 1u << NORM_ROWS, check_l2norm, plan};
extern const Operator LAYERNORM = {SPARK_OP_LAYERNORM, ROWS, NORM_FACT_NAMES, 1u << NORM_ROWS, check_layernorm, plan};

} // namespace spark

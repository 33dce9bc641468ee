// SPDX-License-Identifier: Apache-2.0
// RmsNorm and a kernel -> Plan; and the entries of rmsnorm, l2norm and layernorm, which share problem, kernels, plan.
#include "ops/common/row_load.h"
#include "ops/norm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table(
    {
#define ROW(kernel, because) make_row(kernels::kernel, because, NORM_FACT_NAMES),
#include "ops/norm/table.inc"
#undef ROW
    },
    row_tile);

constexpr uint32_t WEIGHT_IS_F32 = 1, BIAS_IS_F32 = 2, CENTRE = 4; // beside the operator's own flags, bits 8 and up
constexpr uint32_t OWN_FLAGS = 0xffffff00u;

void plan(const Work& work, const Row& row, Plan& calls) {
    Launch& launch = calls.add(*row.kernel);
    const RmsNorm& p = work.as<RmsNorm>();
    launch.grid[0] = static_cast<uint32_t>(row_blocks(row, p.rows0 * p.rows1));
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

void load(const Work& work, const Row& row, Load& load) {
    const RmsNorm& p = work.as<RmsNorm>();
    load_rows(work, row, p.rows0 * p.rows1, p.n, load);
}

} // namespace

extern const Operator RMSNORM = {SPARK_OP_RMSNORM, ROWS, NORM_FACT_NAMES, check_rmsnorm, plan, load};
extern const Operator L2NORM = {SPARK_OP_L2NORM, ROWS, NORM_FACT_NAMES, check_l2norm, plan, load};
extern const Operator LAYERNORM = {SPARK_OP_LAYERNORM, ROWS, NORM_FACT_NAMES, check_layernorm, plan, load};

} // namespace spark

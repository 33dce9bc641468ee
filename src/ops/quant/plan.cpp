// SPDX-License-Identifier: Apache-2.0
// Dequantize and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/quant/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, DEQUANTIZE_FACT_NAMES),
#include "ops/quant/table.inc"
#undef ROW
});

constexpr int64_t MAX_GRID_Y = 65535;

// Steps of a row over x, rows over y. A thread takes STEP units a step, of VEC bytes or of one element.
void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    Launch& launch = calls.add(kernel);
    const Dequantize& p = work.as<Dequantize>();
    int64_t vec = kernel.constant("VEC"), units = vec > 1 ? p.n * p.elem_bytes / vec : p.n;
    int64_t at_a_time = kernel.block * kernel.constant("STEP");
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>((units + at_a_time - 1) / at_a_time, INT32_MAX));
    launch.grid[1] = static_cast<uint32_t>(std::min(p.rows0 * p.rows1, MAX_GRID_Y));
    launch.grid[2] = 1;
    launch.set_params(kernels::dequantize_params{
        .x = p.x.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
    });
}

} // namespace

extern const Operator DEQUANTIZE = {SPARK_OP_DEQUANTIZE, ROWS, DEQUANTIZE_FACT_NAMES, check_dequantize, plan, nullptr};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Cast and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/convert/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, CAST_FACT_NAMES),
#include "ops/convert/table.inc"
#undef ROW
});

// A unit to a thread: PER neighbours of the innermost dimension.
void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    Launch& launch = calls.add(kernel);
    const Cast& p = work.as<Cast>();
    int64_t per = kernel.constant("PER"), units = p.count / per;
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>((units + kernel.block - 1) / kernel.block, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::cast_params{
        .x = p.x,
        .y = p.y,
        .units = units,
        .size0 = p.size[0] / per,
        .size1 = p.size[1],
        .size2 = p.size[2],
        .size3 = p.size[3],
        .size4 = p.size[4],
        .x0 = p.x_stride[0] * per,
        .x1 = p.x_stride[1],
        .x2 = p.x_stride[2],
        .x3 = p.x_stride[3],
        .x4 = p.x_stride[4],
        .x5 = p.x_stride[5],
        .y0 = p.y_stride[0] * per,
        .y1 = p.y_stride[1],
        .y2 = p.y_stride[2],
        .y3 = p.y_stride[3],
        .y4 = p.y_stride[4],
        .y5 = p.y_stride[5],
        .dims = p.dims,
    });
}

} // namespace

extern const Operator CAST = {SPARK_OP_CAST, ROWS, CAST_FACT_NAMES, check_cast, plan, nullptr};

} // namespace spark

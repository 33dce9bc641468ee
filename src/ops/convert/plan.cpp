// SPDX-License-Identifier: Apache-2.0
// Cast and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/convert/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// A unit to a thread: PER neighbours of the innermost dimension.
void plan(const CheckedOp& work, const Row&, const kernels::cast_kernel& kernel, Plan& calls) {
    const Cast& p = work.as<Cast>();
    int64_t per = kernel.PER;
    calls.add(kernel, {
                          .x = p.x,
                          .y = p.y,
                          .units = p.count / per,
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

constexpr auto ROWS = make_table({
#define ROW(...) SPARK_ROW(CONVERT_FACT_NAMES, __VA_ARGS__)
#include "ops/convert/table.inc"
#undef ROW
});

} // namespace

extern const Operator CAST = {SPARK_OP_CAST, ROWS, CONVERT_FACT_NAMES, check_cast, nullptr};

} // namespace spark

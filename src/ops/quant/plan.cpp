// SPDX-License-Identifier: Apache-2.0
// Dequantize and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/quant/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// Steps of a row over x, rows over y. A thread takes STEP units a step, of VEC bytes or of one element.
void plan(const Work& work, const Row&, const kernels::dequantize_kernel& kernel, Plan& calls) {
    const Dequantize& p = work.as<Dequantize>();
    int64_t units = kernel.VEC > 1 ? p.n * p.elem_bytes / kernel.VEC : p.n;
    const kernels::dequantize_params params = {
        .x = p.x.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
    };
    calls.add(kernel, params, ceil_div(units, int64_t{kernel.block} * kernel.STEP));
}

constexpr auto ROWS = make_table({
#define ROW(...) SPARK_ROW(DEQUANTIZE_FACT_NAMES, __VA_ARGS__)
#include "ops/quant/table.inc"
#undef ROW
});

} // namespace

extern const Operator DEQUANTIZE = {SPARK_OP_DEQUANTIZE, ROWS, DEQUANTIZE_FACT_NAMES, check_dequantize, nullptr};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Embedding and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/embedding/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr auto ROWS = make_table({
#define ROW(kernel, because) make_row(kernels::kernel, because, EMBEDDING_FACT_NAMES),
#include "ops/embedding/table.inc"
#undef ROW
});

constexpr int64_t UNITS_PER_STEP = 128, WARP = 32, MAX_GRID_Y = 65535;
constexpr uint32_t IDS_ARE_I64 = 1, ZERO_INVALID = 256;

// A warp to an id, over x; columns over y, in units of VEC bytes or of one element.
void plan(const Work& work, const Row& row, Plan& calls) {
    const Kernel& kernel = *row.kernel;
    Launch& launch = calls.add(kernel);
    const Embedding& p = work.as<Embedding>();
    int64_t vec = kernel.constant("VEC"), units = vec > 1 ? p.width * p.elem_bytes / vec : p.width;
    int64_t x = ceil_div(p.count, kernel.block / WARP), y = ceil_div(units, UNITS_PER_STEP);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(x, INT32_MAX));
    launch.grid[1] = static_cast<uint32_t>(std::min(y, MAX_GRID_Y));
    launch.grid[2] = 1;
    launch.set_params(kernels::embedding_params{
        .table = p.table,
        .ids = p.ids,
        .y = p.y,
        .invalid_count = p.invalid_count,
        .table_stride = p.table_stride,
        .y_stride = p.y_stride,
        .count = p.count,
        .rows = p.rows,
        .width = p.width,
        .flags = (p.ids64 ? IDS_ARE_I64 : 0) | (p.zero_invalid ? ZERO_INVALID : 0),
    });
}

} // namespace

extern const Operator EMBEDDING = {SPARK_OP_EMBEDDING, ROWS, EMBEDDING_FACT_NAMES, check_embedding, plan, nullptr};

} // namespace spark

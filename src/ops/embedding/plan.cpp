// SPDX-License-Identifier: Apache-2.0
// Embedding and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/embedding/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

constexpr int64_t UNITS_PER_STEP = 128;

// A warp to an id, over x; columns over y, in units of VEC bytes or of one element.
void plan(const CheckedOp& work, const Row&, const kernels::embedding_kernel& kernel, Plan& calls) {
    const Embedding& p = work.as<Embedding>();
    int64_t units = kernel.VEC > 1 ? p.width * p.elem_bytes / kernel.VEC : p.width;
    const kernels::embedding_params params = {
        .table = p.table,
        .ids = p.ids,
        .y = p.y,
        .invalid_count = p.invalid_count,
        .table_stride = p.table_stride,
        .y_stride = p.y_stride,
        .count = p.count,
        .rows = p.rows,
        .width = p.width,
        .flags = kernels::embedding_flags{.ids_i64 = p.ids64, .zero_invalid = p.zero_invalid},
    };
    calls.add(kernel, params, ceil_div(units, UNITS_PER_STEP));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/embedding/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, EMBEDDING_FACT_NAMES>();

} // namespace

extern const Operator EMBEDDING = {SPARK_OP_EMBEDDING, TABLE, EMBEDDING_FACT_NAMES, check_embedding, nullptr};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Rope and a kernel -> Launch; and the operator's entry in the list.
#include <algorithm>

#include "ops/rope/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr Row ROWS[] = {
#define ROW(kernel, prefer, because) make_row(kernels::kernel, prefer, because, ROPE_FACT_NAMES),
#include "ops/rope/table.inc"
#undef ROW
};

constexpr uint32_t POSITIONS_ARE_I64 = 1, TABLE_IS_F32 = 2, OWN_FLAGS = 0xffffff00u;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// A block does block / HALF tokens at a time; the plain kernel, without HALF, a pair or a copied element a thread.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    Launch& launch = calls.add(kernel);
    const Rope& p = work.as<Rope>();
    int64_t tokens = p.tokens0 * p.tokens1, rest = p.in_place ? 0 : p.width - 2 * p.pairs;
    int64_t pairs = kernel.constant("HALF");
    int64_t blocks =
        pairs != 0 ? ceil_div(tokens, kernel.block / pairs) : ceil_div(tokens * (p.pairs + rest), kernel.block);
    launch.grid[0] = static_cast<uint32_t>(std::clamp<int64_t>(blocks, 1, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(kernels::rope_params{
        .positions = p.positions,
        .table = p.table,
        .x = p.x.data,
        .y = p.y.data,
        .invalid_count = p.invalid_count,
        .x_head = p.x.head,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_head = p.y.head,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .table_rows = p.table_rows,
        .table_stride = p.table_stride,
        .tokens0 = p.tokens0,
        .tokens1 = p.tokens1,
        .heads = p.heads,
        .pairs = p.pairs,
        .rest = rest,
        .ratio = p.ratio,
        .flags = (p.flags & OWN_FLAGS) | (p.positions64 ? POSITIONS_ARE_I64 : 0) | (p.table_f32 ? TABLE_IS_F32 : 0),
    });
}

} // namespace

extern const Operator ROPE = {SPARK_OP_ROPE, ROWS, ROPE_FACT_NAMES, 1u << ROPE_TOKENS, check_rope, plan};

} // namespace spark

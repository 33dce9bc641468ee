// SPDX-License-Identifier: Apache-2.0
// Softmax and a kernel -> Plan; and the operator's entry in the list. Kernels take scale times log2(e), less a power
// of two for the range, and powers of two.
#include <cmath>

#include "ops/common/row_load.h"
#include "ops/softmax/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr double LOG2_E = 1.4426950408889634;
// The power of two that is taken out of the scale: with half of each value no difference of two overflows, and with
// less a scale that is nearly subnormal keeps its digits. Values lose nothing by it that counts beside such a scale.
constexpr float HALF = 0.5f, LEAST_SCALE = 0x1p-60f, LITTLE = 0x1p-64f;

template <class Of> consteval Tile tile_of(const Of& kernel) { return row_tile(kernel); }

kernels::softmax_params params_of(const Softmax& p) {
    const float prefactor = std::copysign(std::fabs(p.scale) < LEAST_SCALE ? LITTLE : HALF, p.scale);
    return {
        .x = p.x.data,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .prefactor = prefactor,
        .scale = static_cast<float>(p.scale / prefactor * LOG2_E),
        .flags = kernels::softmax_flags{.log = (p.flags & SPARK_SOFTMAX_LOG) != 0},
    };
}

void plan(const CheckedOp& work, const Row&, const kernels::softmax_kernel& kernel, Plan& calls) {
    calls.add(kernel, params_of(work.as<Softmax>()));
}

// As many blocks as the device holds: L2 then still has the rows that they read twice.
void plan(const CheckedOp& work, const Row& row, const kernels::softmax_loop_kernel& kernel, Plan& calls) {
    const Softmax& p = work.as<Softmax>();
    const int64_t held = int64_t{work.target->sms} * work.target->resident[row.kernel->index];
    calls.add(kernel, params_of(p), std::min(row_blocks(row, p.rows0 * p.rows1), held));
}

void load(const CheckedOp& work, const Row& row, Load& load) {
    const Softmax& p = work.as<Softmax>();
    load_rows(work, row, p.rows0 * p.rows1, p.n, load);
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/softmax/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, SOFTMAX_FACT_NAMES>();

} // namespace

extern const Operator SOFTMAX = {SPARK_OP_SOFTMAX, TABLE, SOFTMAX_FACT_NAMES, check_softmax, load, true, true};

} // namespace spark

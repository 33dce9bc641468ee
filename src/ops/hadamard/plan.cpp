// SPDX-License-Identifier: Apache-2.0
// Hadamard and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/hadamard/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// Blocks step from this many an SM on, so that each finds its size and signs once for more than a few elements.
constexpr int64_t MOST_AN_SM = 32;

void plan(const CheckedOp& work, const Row&, const kernels::hadamard_kernel& kernel, Plan& calls) {
    const Hadamard& p = work.as<Hadamard>();
    const int64_t octets = p.n / 8 * p.rows0 * p.rows1, blocks = ceil_div(octets, kernel.block);
    const kernels::hadamard_params params = {
        .x = p.x.data,
        .signs = p.signs,
        .y = p.y.data,
        .x_stride0 = p.x.inner,
        .x_stride1 = p.x.outer,
        .y_stride0 = p.y.inner,
        .y_stride1 = p.y.outer,
        .n = p.n,
        .rows0 = p.rows0,
        .rows1 = p.rows1,
        .scale = p.scale,
        .size = p.size,
        .flags = kernels::hadamard_flags{.signs_after = p.signs_after},
    };
    calls.add(kernel, params, std::min(blocks, MOST_AN_SM * work.target->sms));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/hadamard/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, HADAMARD_FACT_NAMES>();

} // namespace

extern const Operator HADAMARD = {SPARK_OP_HADAMARD, TABLE, HADAMARD_FACT_NAMES, check_hadamard, nullptr};

} // namespace spark

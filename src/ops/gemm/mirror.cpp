// SPDX-License-Identifier: Apache-2.0
// X times its own transpose: of the four quarters of d the upper right one is the lower left one, turned.
#include <algorithm>

#include "core/divide.h"
#include "core/dtype.h"
#include "ops/common/row_load.h"
#include "ops/convert/problem.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

// Whether d[i, j] and d[j, i] have the same bits, which halves of F32 in an order do not give, and d is numbers that
// are not read.
bool is_symmetric(const Gemm& p) {
    const bool same = p.a == p.b && p.a != 0 && p.m == p.n && p.a_along && p.b_along && p.lda == p.ldb;
    const bool alone = p.batch == 1 && p.c == 0 && p.bias == 0 && !p.gate.on && !p.codes.on && !p.kept.on;
    return same && alone && !p.weights && p.a_blocks.data == 0 && p.a_scales.data == 0 && p.b_scales.data == 0 &&
           p.a_e5m2 == p.b_e5m2 && !p.bf16x3;
}

} // namespace

int64_t mirrored_half(const CheckedOp& work, const Row& row) {
    constexpr int64_t TILE = 256, LEAST_K = 1024; // with less, a product costs no more than to move its result
    const Gemm& p = work.as<Gemm>();
    const int64_t half = p.m / 2;
    if (p.k < LEAST_K || p.m == 0 || p.m % (2 * TILE) != 0 || !is_symmetric(p)) return 0;
    if (p.m > UINT32_MAX / p.ldd / 4 || dtype_info(p.d_dtype).bits < 16) return 0; // of places in 32 bits, in bytes
    const int64_t quarter = ceil_div(half, uint32_t{row.tile.rows}) * ceil_div(half, uint32_t{row.tile.columns});
    const int64_t held = std::max<int64_t>(held_blocks(*work.target, row), 1);
    const auto waves = [&](int64_t tiles) { return ceil_div(tiles, held); };
    return waves(2 * quarter) + waves(quarter) < waves(4 * quarter) ? half : 0;
}

void add_mirrored(const Gemm& p, int64_t half, Plan& calls) {
    const int64_t bytes = dtype_info(p.d_dtype).bits / 8;
    plan_turned({.x = p.d + static_cast<uint64_t>(half * p.ldd * bytes),
                 .y = p.d + static_cast<uint64_t>(half * bytes),
                 .dims = 2,
                 .count = half * half,
                 .size = {half, half, 1, 1, 1},
                 .x_stride = {p.ldd, 1},
                 .y_stride = {1, p.ldd}},
                bytes, calls);
}

} // namespace spark

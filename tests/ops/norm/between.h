// SPDX-License-Identifier: Apache-2.0
// What FP32 allows of a row that rmsnorm's rule has normed. Shared by the cases of operators that norm so.
#pragma once

#include "ops/norm/rows.h"
#include "ref/rmsnorm.h"

namespace check {

// The ends of the right results of one row: the oracle itself, erring down and up; and how far FP32 may be off beyond
// them, as numbers become subnormal.
struct NormedRow {
    std::vector<double> low, high, slack, sums;

    Allowed allowed(ref::Type type, size_t i) const { return allow_between(type, low[i], high[i], slack[i]); }
    void add_to(Numbers& numbers, size_t i) const { numbers.add(low[i], high[i], slack[i]); }
};
inline NormedRow normed_between(ref::Rmsnorm op, std::span<const double> x, std::span<const double> weight,
                                std::span<const double> residual) {
    const size_t n = x.size();
    NormedRow out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    const double ms = rmsnorm_mean_square(op, x, residual);
    const double r_error = error_of_r(ms, op.eps, static_cast<int64_t>(n), 2);
    for (double sign : {-1.0, 1.0}) {
        op.error_of_r = sign * r_error;
        op.error_of_product = sign * 3 * 0x1p-24; // 1 + w, t times w, and one for another order of the two products
        rmsnorm_row(op, x, weight, residual, sign < 0 ? out.low : out.high, out.sums);
    }
    for (size_t i = 0; i < n; ++i) {
        const double w = weight.empty() ? 1 : std::fabs(weight[i]) + 1;
        // t and the product are FP32 numbers, perhaps subnormal; so may be v in a row that is lowered, once or twice
        out.slack[i] = 0x1p-149 * (1 + 2 * w);
    }
    return out;
}

} // namespace check

// SPDX-License-Identifier: Apache-2.0
// Oracle of rmsnorm; see the header for the definition.
#include "ref/rmsnorm.h"

#include "ref/quantize.h"

#include <cmath>

namespace ref {

static double sum_of(std::span<const double> x, std::span<const double> residual, size_t i) {
    return residual.empty() ? x[i] : rounded(Type::f32, x[i] + residual[i]);
}

static double normalized_value(const Rmsnorm& op, double s) { return op.normalize_rounded ? rounded(op.type, s) : s; }

double rmsnorm_mean_square(const Rmsnorm& op, std::span<const double> x, std::span<const double> residual) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double v = normalized_value(op, sum_of(x, residual, i));
        sum += v * v;
    }
    return sum / static_cast<double>(x.size());
}

void rmsnorm_row(const Rmsnorm& op, std::span<const double> x, std::span<const double> weight,
                 std::span<const double> residual, std::span<double> y, std::span<double> residual_out) {
    double r = 1 / std::sqrt(rmsnorm_mean_square(op, x, residual) + op.eps);
    r *= 1 + op.error_of_r;

    for (size_t i = 0; i < x.size(); ++i) {
        const double s = sum_of(x, residual, i);
        if (!residual_out.empty()) {
            residual_out[i] = rounded(op.type, s);
        }
        double t = normalized_value(op, s) * r;
        if (op.round_before_weight) {
            t = rounded(op.type, t);
        }
        if (!weight.empty()) {
            t *= op.weight_plus_one ? 1 + weight[i] : weight[i];
        }
        y[i] = rounded(op.coded ? Type::f32 : op.type, t * (1 + op.error_of_product));
    }
}

static Results compute_rmsnorm(const Call& call) {
    const Tensor &x = call["x"], &residual = call["residual"];
    Rmsnorm op{.type = x.type, .eps = call.number("eps")};
    op.weight_plus_one = call.is("weight_plus_one");
    op.round_before_weight = call.is("round_before_weight");
    op.normalize_rounded = call.is("normalize_rounded");
    op.coded = wants_codes(call);
    Result y{.values = x.values, .rounded = true}, sums = y;
    for (size_t first = 0, n = x.size(1); first < x.values.size(); first += n) {
        rmsnorm_row(op, x.row(first, n), call["weight"].values, residual.row(first, n),
                    std::span(y.values).subspan(first, n), std::span(sums.values).subspan(first, n));
    }
    Results results = op.coded ? codes_of(call, "x", y.values) : Results{{"y", y}};
    if (!residual.values.empty()) {
        results["residual_out"] = sums;
    }
    return results;
}

extern const Oracle RMSNORM{"rmsnorm", compute_rmsnorm};

} // namespace ref

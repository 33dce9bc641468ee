// SPDX-License-Identifier: Apache-2.0
// Oracle of layernorm; see the header for the definition.
#include "ref/layernorm.h"

#include "ref/quantize.h"

#include <cmath>
#include <vector>

namespace ref {

LayernormRow layernorm_row(const Layernorm& op, std::span<const double> x, std::span<const double> weight,
                           std::span<const double> bias, std::span<const double> residual, std::span<double> y,
                           std::span<double> residual_out) {
    const auto n = static_cast<double>(x.size());
    std::vector<double> v(x.size());
    LayernormRow row;
    for (size_t i = 0; i < x.size(); ++i) {
        const double s = residual.empty() ? x[i] : rounded(Type::f32, x[i] + residual[i]);
        if (!residual_out.empty()) {
            residual_out[i] = rounded(op.type, s);
        }
        v[i] = op.normalize_rounded ? rounded(op.type, s) : s;
        row.mean += v[i] / n;
        row.magnitude += std::fabs(v[i]) / n;
    }
    double correction = 0; // what rounding has made of the mean: nothing may remain of equal values
    for (double value : v) {
        correction += (value - row.mean) / n;
    }
    row.mean += correction;
    for (double value : v) {
        row.equal = row.equal && value == v[0];
        row.variance += (value - row.mean) * (value - row.mean) / n;
    }
    const double r = 1 / std::sqrt(row.variance + op.eps);
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = (v[i] - row.mean) * r * (weight.empty() ? 1 : weight[i]) + (bias.empty() ? 0 : bias[i]);
    }
    return row;
}

static Results compute_layernorm(const Call& call) {
    const Tensor &x = call["x"], &residual = call["residual"];
    const Layernorm op{.type = x.type,
                       .eps = static_cast<float>(call.number("eps")),
                       .normalize_rounded = call.is("normalize_rounded")};
    Result y{.values = x.values}, sums{.values = x.values, .rounded = true};
    for (size_t first = 0, n = x.size(1); first < x.values.size(); first += n) {
        layernorm_row(op, x.row(first, n), call["weight"].values, call["bias"].values, residual.row(first, n),
                      std::span(y.values).subspan(first, n), std::span(sums.values).subspan(first, n));
    }
    Results results{{"y", y}};
    if (wants_codes(call)) {
        for (double& value : y.values) {
            value = rounded(Type::f32, value);
        }
        results = codes_of(call, "x", y.values);
    }
    if (!residual.values.empty()) {
        results["residual_out"] = sums;
    }
    return results;
}

extern const Oracle LAYERNORM{"layernorm", compute_layernorm};

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of layernorm; see the header for the definition.
#include "ref/layernorm.h"

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

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// What the cases of rmsnorm and l2norm share: the error that FP32 allows.
// Knows neither operator's arguments.
#pragma once

#include "ops/families.h"

#include <algorithm>
#include <cmath>

namespace check {

// The relative error of r = 1 / sqrt(q + eps) that FP32 allows, u = 2^-24, where q is the sum or the mean of n squares;
// `underflow`: what the squares may lose below the smallest FP32 number, as a part of q.
//   v^2 one rounding; a sum of N non-negative terms: a chain of additions in a lane, at most ceil(N/32) and one vector
//   of 8 more (rows wider than a few vectors have a warp or more), then 9 between up to 512 lanes; 1/N and its product
//   2; + eps 1. The square root halves the relative error of its argument.
//   rsqrt.approx is within 2^-22.9 (PTX ISA); 1/sqrt in two approximate steps within 2^-22. The product with v rounds
//   once more.
inline double error_of_r(double q, double eps, int64_t n, double underflow) {
    constexpr double u = 0x1p-24;
    if (q + eps == 0 || !std::isfinite(q)) { // r is infinite or 0 or NaN, whatever the order of the sum
        return 0;
    }
    const double sum_error = (static_cast<double>((n + 31) / 32) + 8 + 9 + 4) * u * q + underflow;
    const double relative = std::min(sum_error / (q + eps), 0.5);
    return relative / (2 * (1 - relative)) + 0x1p-22 + u;
}

// Everything from one result of the oracle to another; finite ones give way by `slack` more.
inline Allowed allow_between(ref::Type type, double one, double other, double slack) {
    Allowed allowed = allow(type, one, 0);
    const double low = std::min(one, other), high = std::max(one, other);
    if (allowed.kind == Allowed::range && std::isfinite(one) && std::isfinite(other)) {
        allowed.low = static_cast<float>(ref::rounded(type, low - slack));
        allowed.high = static_cast<float>(ref::rounded(type, high + slack));
    } else if (allowed.kind == Allowed::range) {
        allowed.low = static_cast<float>(low);
        allowed.high = static_cast<float>(high);
    }
    return allowed;
}

} // namespace check

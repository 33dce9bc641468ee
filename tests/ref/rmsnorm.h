// SPDX-License-Identifier: Apache-2.0
// Oracle of rmsnorm: one row, in double precision, from the definition.
//   s = x + residual                     in FP32 (the definition's own rounding; s = x without a residual)
//   residual_out = round(s)
//   v = normalize_rounded ? round(s) : s
//   r = 1 / sqrt(mean(v^2) + eps)
//   t = v r;  round_before_weight: t = round(t)
//   y = round(t w');  w' = 1, w or 1 + w
// round() is one rounding to the element type.
#pragma once

#include "ref/formats.h"

#include <span>

namespace ref {

struct Rmsnorm {
    Type type = Type::f32;
    double eps = 0;
    bool weight_plus_one = false;
    bool round_before_weight = false;
    bool normalize_rounded = false;
    bool coded = false; // y is rounded to F32 instead, and goes on to be quantised

    // Relative errors to suffer on purpose; 0 is the definition. y is monotone in each, so that the results at
    // (-a, -b) and (+a, +b) enclose every result of an implementation whose r errs by a and whose last product errs by
    // b.
    double error_of_r = 0;
    double error_of_product = 0;
};

// weight and residual may be empty; residual_out is filled if it is not empty.
void rmsnorm_row(const Rmsnorm& op, std::span<const double> x, std::span<const double> weight,
                 std::span<const double> residual, std::span<double> y, std::span<double> residual_out);

// mean(v^2) of that row, from which a caller derives its error bound.
double rmsnorm_mean_square(const Rmsnorm& op, std::span<const double> x, std::span<const double> residual);

} // namespace ref

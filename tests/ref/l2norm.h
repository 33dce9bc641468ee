// SPDX-License-Identifier: Apache-2.0
// Oracle of l2norm: one row, in double precision, from the definition.
//   y = round(x / sqrt(sum(x^2) + eps));  round() is one rounding to the element type
#pragma once

#include "ref/formats.h"

#include <span>

namespace ref {

struct L2norm {
    Type type = Type::f32;
    double eps = 0;

    // Relative error of the factor, to suffer on purpose; 0 is the definition. y is monotone in it, so that the results
    // at -a and +a enclose every result of an implementation whose factor, with the last product, errs by a.
    double error_of_r = 0;
};

// sum(x^2), from which a caller derives its error bound.
double l2norm_square(std::span<const double> x);

void l2norm_row(const L2norm& op, std::span<const double> x, std::span<double> y);

} // namespace ref

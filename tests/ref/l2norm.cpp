// SPDX-License-Identifier: Apache-2.0
// Oracle of l2norm; see the header for the definition.
#include "ref/l2norm.h"

#include "ref/call.h"

#include <cmath>

namespace ref {

double l2norm_square(std::span<const double> x) {
    double sum = 0;
    for (double value : x) {
        sum += value * value;
    }
    return sum;
}

void l2norm_row(const L2norm& op, std::span<const double> x, std::span<double> y) {
    const double r = (1 + op.error_of_r) / std::sqrt(l2norm_square(x) + op.eps);
    for (size_t i = 0; i < x.size(); ++i) {
        y[i] = rounded(op.type, x[i] * r);
    }
}

static Results compute_l2norm(const Call& call) {
    const Tensor& x = call["x"];
    const L2norm op{.type = x.type, .eps = call.number("eps")};
    Result y{.values = x.values, .rounded = true};
    for (size_t first = 0, n = x.size(1); first < x.values.size(); first += n) {
        l2norm_row(op, x.row(first, n), std::span(y.values).subspan(first, n));
    }
    return {{"y", y}};
}

extern const Oracle L2NORM{"l2norm", compute_l2norm};

} // namespace ref

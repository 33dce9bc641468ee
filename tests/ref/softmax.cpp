// SPDX-License-Identifier: Apache-2.0
// Oracle of softmax; see the header for the definition.
#include "ref/softmax.h"

#include "ref/call.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ref {

double scaled(double x, double scale) { return scale == 0 && std::isinf(x) ? x : scale * x; }

void softmax_row(std::span<const double> x, double scale, bool log, std::span<double> y) {
    double most = -std::numeric_limits<double>::infinity();
    for (double value : x) {
        most = std::max(most, scaled(value, scale)); // a NaN is never the larger one
    }
    double sum = 0;
    for (double value : x) {
        sum += std::exp(scaled(value, scale) - most);
    }
    for (size_t i = 0; i < x.size(); ++i) {
        const double relative = scaled(x[i], scale) - most;
        y[i] = log ? relative - std::log(sum) : std::exp(relative) / sum;
    }
}

static Results compute_softmax(const Call& call) {
    const Tensor& x = call["x"];
    Result y{.values = x.values};
    for (size_t first = 0, n = x.size(1); first < x.values.size(); first += n) {
        softmax_row(x.row(first, n), call.number("scale"), call.is("log"), std::span(y.values).subspan(first, n));
    }
    return {{"y", y}};
}

extern const Oracle SOFTMAX{"softmax", compute_softmax};

} // namespace ref

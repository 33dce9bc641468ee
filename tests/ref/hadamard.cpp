// SPDX-License-Identifier: Apache-2.0
// Oracle of hadamard: from the definition, without a butterfly. Of each block of P elements of x:
//   y[i] = scale * sum_j (-1)^popcount(i & j) * signs[j] * x[j]
//   signs_after: y[i] = signs[i] * scale * sum_j (-1)^popcount(i & j) * x[j]
// No signs: 1.
#include "ref/call.h"

#include <bit>

namespace ref {

static void transform(std::span<const double> x, std::span<const double> signs, bool after, std::span<double> y) {
    for (size_t i = 0; i < x.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < x.size(); ++j) {
            const double term = signs.empty() || after ? x[j] : signs[j] * x[j];
            sum += std::popcount(i & j) % 2 == 0 ? term : -term;
        }
        y[i] = sum * (after && !signs.empty() ? signs[i] : 1);
    }
}

static Results compute_hadamard(const Call& call) {
    const Tensor &x = call["x"], &signs = call["signs"];
    const auto size = static_cast<size_t>(call.number("size"));
    Result y{.values = x.values};
    for (size_t first = 0; first < x.values.size(); first += size) {
        transform(x.row(first, size), signs.values, call.is("signs_after"), std::span(y.values).subspan(first, size));
    }
    for (double& value : y.values) {
        value *= call.number("scale");
    }
    return {{"y", y}};
}

extern const Oracle HADAMARD{"hadamard", compute_hadamard};

} // namespace ref

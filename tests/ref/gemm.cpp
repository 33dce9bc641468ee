// SPDX-License-Identifier: Apache-2.0
// Oracle of gemm; see the header for the definition.
#include "ref/gemm.h"

#include <cmath>

namespace ref {

GemmElement gemm_element(const Gemm& op, std::span<const double> a, std::span<const double> b, double c, double bias) {
    double sum = 0;
    double magnitude = 0;
    for (size_t k = 0; k < a.size(); ++k) {
        const double product = a[k] * b[k];
        sum += product;
        magnitude += std::fabs(product);
    }
    double before = op.alpha * op.scale * sum + bias;
    if (op.beta != 0) {
        before += op.beta * c;
    }
    return {activate(op.activation, before), before, std::fabs(op.scale) * magnitude};
}

} // namespace ref

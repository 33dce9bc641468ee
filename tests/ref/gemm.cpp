// SPDX-License-Identifier: Apache-2.0
// Oracle of gemm; see the header for the definition.
#include "ref/gemm.h"

#include <cmath>

namespace ref {

double activate(Activation activation, double x) {
    constexpr double SQRT_HALF = 0.70710678118654752440;
    constexpr double SQRT_TWO_OVER_PI = 0.79788456080286535588;
    switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu_erf: return 0.5 * x * (1 + std::erf(x * SQRT_HALF));
    case Activation::gelu_tanh: return 0.5 * x * (1 + std::tanh(SQRT_TWO_OVER_PI * (x + 0.044715 * x * x * x)));
    }
    return x;
}

GemmElement gemm_element(const Gemm& op, std::span<const double> a, std::span<const double> b, double c, double bias) {
    double sum = 0;
    double magnitude = 0;
    for (size_t k = 0; k < a.size(); ++k) {
        const double product = a[k] * b[k];
        sum += product;
        magnitude += std::fabs(product);
    }
    double before = op.alpha * sum + bias;
    if (op.beta != 0) {
        before += op.beta * c;
    }
    return {activate(op.activation, before), before, magnitude};
}

} // namespace ref

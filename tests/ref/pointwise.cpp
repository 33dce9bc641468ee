// SPDX-License-Identifier: Apache-2.0
// Oracles of the pointwise operators; see the header for the definitions. The GELUs are written so that nothing cancels
// for x far below 0: 1 + erf(z) = erfc(-z), (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)).
#include "ref/pointwise.h"

#include <cmath>

namespace ref {

double activate(Activation activation, double x) {
    constexpr double SQRT_HALF = 0.70710678118654752440;
    constexpr double SQRT_TWO_OVER_PI = 0.79788456080286535588;
    const double above_zero = x > 0 || std::isnan(x) ? x : 0;
    switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu_erf: return 0.5 * x * std::erfc(-x * SQRT_HALF);
    case Activation::gelu_tanh: return x / (1 + std::exp(-2 * SQRT_TWO_OVER_PI * (x + 0.044715 * x * x * x)));
    case Activation::relu: return above_zero;
    case Activation::relu_squared: return above_zero * above_zero;
    }
    return x;
}

double glu(Activation activation, bool round_activation, Type type, double gate, double up, double error) {
    const double t = activate(activation, gate) + error;
    return (round_activation ? rounded(type, t) : t) * up;
}

double add(double a, double b) { return rounded(Type::f32, a + b); }

} // namespace ref

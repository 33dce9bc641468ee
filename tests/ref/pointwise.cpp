// SPDX-License-Identifier: Apache-2.0
// Oracles of the pointwise operators; see the header for the definitions. The GELUs are written so that nothing cancels
// for x far below 0: 1 + erf(z) = erfc(-z), (1 + tanh(u)) / 2 = 1 / (1 + exp(-2u)).
#include "ref/pointwise.h"

#include "ref/quantize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace ref {

double activate(Activation activation, double x, double cap) {
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
    case Activation::softcap: return cap * std::tanh(x / cap);
    }
    return x;
}

double glu(Activation activation, bool round_activation, Type type, double gate, double up, double error, double cap) {
    const double t = activate(activation, gate, cap) + error;
    return (round_activation ? rounded(type, t) : t) * up;
}

double add(double a, double b) { return rounded(Type::f32, a + b); }

Activation activation_named(const Call& call) {
    constexpr const char* NAMES[] = {"none", "silu", "gelu_erf", "gelu_tanh", "relu", "relu_squared", "softcap"};
    const auto found = std::find(std::begin(NAMES), std::end(NAMES), call.words.at("activation"));
    return found == std::end(NAMES) ? throw std::runtime_error("no such activation")
                                    : static_cast<Activation>(found - std::begin(NAMES));
}

// Settings that older vectors do not have.
static double cap_of(const Call& call) { return call.numbers.contains("cap") ? call.number("cap") : 0; }

static Results compute_activation(const Call& call) {
    Result y{.values = call["x"].values, .any_zero = true};
    for (double& value : y.values) {
        value = activate(activation_named(call), value, cap_of(call));
    }
    return {{"y", y}};
}

static Results compute_glu(const Call& call) {
    const Tensor &gate = call["gate"], &up = call["up"];
    Result y{.values = gate.values, .any_zero = true};
    for (size_t i = 0; i < y.values.size(); ++i) {
        y.values[i] = glu(activation_named(call), call.is("round_activation"), gate.type, gate.values[i], up.values[i],
                          0, cap_of(call));
    }
    if (wants_codes(call)) {
        for (double& value : y.values) {
            value = rounded(Type::f32, value);
        }
        return codes_of(call, "gate", y.values);
    }
    return {{"y", y}};
}

static Results compute_add(const Call& call) {
    Result y{.values = call["a"].values};
    for (size_t i = 0; i < y.values.size(); ++i) {
        y.values[i] = add(y.values[i], call["b"].values[i]);
    }
    return {{"y", y}};
}

extern const Oracle ACTIVATION{"activation", compute_activation};
extern const Oracle GLU{"glu", compute_glu};
extern const Oracle ADD{"add", compute_add};

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracles of activation, glu and add: one element, in double precision, from the definition.
//   activation   round(act(x))
//   glu          round(t up), t = act(gate), or round(act(gate)) if round_activation
//   add          round(s), s = a + b in FP32 (the definition's own rounding)
// round() is one rounding to the element type; activate() and add() leave it to the caller.
#pragma once

#include "ref/formats.h"

namespace ref {

enum class Activation { none, silu, gelu_erf, gelu_tanh, relu, relu_squared, softcap };

struct Call;
Activation activation_named(const Call& call); // by its word of that name

double activate(Activation activation, double x, double cap = 0); // cap: of softcap

// act(gate) + error, rounded or not, times up: a caller that knows how much act(gate) may err asks for both ends.
double glu(Activation activation, bool round_activation, Type type, double gate, double up, double error = 0,
           double cap = 0);

double add(double a, double b);

} // namespace ref

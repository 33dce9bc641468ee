// SPDX-License-Identifier: Apache-2.0
// Oracle of layernorm: one row, in double precision, from the definition.
//   s = x + residual                     in FP32 (the definition's own rounding; s = x without a residual)
//   residual_out = round(s)
//   v = normalize_rounded ? round(s) : s
//   d = v - mean(v)
//   y = d / sqrt(mean(d^2) + eps) * weight + bias      (not rounded: the caller rounds once)
// round() is one rounding to the element type.
#pragma once

#include "ref/formats.h"

#include <span>

namespace ref {

struct Layernorm {
    Type type = Type::f32;
    double eps = 0;
    bool normalize_rounded = false;
};

// What a caller derives its error bound from.
struct LayernormRow {
    double mean = 0;      // of v
    double magnitude = 0; // mean(|v|)
    double variance = 0;  // mean(d^2)
    bool equal = true;    // v is one number throughout
};

// weight, bias and residual may be empty; residual_out is filled if it is not empty.
LayernormRow layernorm_row(const Layernorm& op, std::span<const double> x, std::span<const double> weight,
                           std::span<const double> bias, std::span<const double> residual, std::span<double> y,
                           std::span<double> residual_out);

} // namespace ref

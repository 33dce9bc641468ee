// SPDX-License-Identifier: Apache-2.0
// Oracle of gemm: one element of D, in double precision, from the definition.
//   d[m,n] = act(alpha * sa[m] * sb[n] * sum_k a[m,k] b[n,k] + beta * c[m,n] + bias[n])     (the caller rounds once)
// beta = 0 means that c is not read. K = 0 leaves act(beta * c + bias).
#pragma once

#include "ref/pointwise.h"

#include <span>

namespace ref {

struct Gemm {
    double alpha = 1;
    double scale = 1; // sa[m] * sb[n]
    double beta = 0;
    Activation activation = Activation::none;
};

struct GemmElement {
    double value;     // d[m,n] before its rounding
    double before;    // the argument of the activation
    double magnitude; // |scale| * sum_k |a[m,k] b[n,k]|: what the error of an FP32 sum is relative to
};

// `a` is row m of A and `b` row n of B, both of length K; c and bias are the elements that belong to (m, n), 0 if
// absent.
GemmElement gemm_element(const Gemm& op, std::span<const double> a, std::span<const double> b, double c, double bias);

} // namespace ref

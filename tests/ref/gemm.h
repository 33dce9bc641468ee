// SPDX-License-Identifier: Apache-2.0
// Oracle of gemm: one element of D, in double precision, from the definition.
//   d[m,n] = act(alpha * sa[m] * sb[n] * sum_k a[m,k] b[n,k] + beta * c[m,n] + bias[n])     (the caller rounds once)
// beta = 0 means that c is not read. K = 0 leaves act(beta * c + bias).
// With a gate d[m,j] is made of two such elements without activation, those of rows g and u of b:
//   act(min(g, limit)) * clamp(u, limit), or of gpt-oss with one more than that and the sigmoid of 1.702 g
#pragma once

#include "ref/pointwise.h"

#include <span>
#include <vector>

namespace ref {

struct Gemm {
    double alpha = 1;
    double scale = 1; // sa[m] * sb[n]
    double beta = 0;
    Activation activation = Activation::none;
    double cap = 0; // of softcap
};

struct GemmElement {
    double value;     // d[m,n] before its rounding
    double before;    // the argument of the activation
    double magnitude; // |scale| * sum_k |a[m,k] b[n,k]|: what the error of an FP32 sum is relative to
};

struct Gate {
    bool on = false, interleaved = false, up_first = false, gpt_oss = false;
    double limit = 0; // 0: none
    double cap = 0;   // of the activation softcap
};

// The rows of b, of n, that make column j of d: of the gate, and of what it multiplies.
struct GatedRows {
    size_t gate, up;
};
GatedRows gated_rows(const Gate& gate, size_t n, size_t j);

// The factors of d[m,j], from both elements: the activated gate, and what it multiplies.
struct GatedFactors {
    double gate, up;
};
GatedFactors gated_factors(const Gate& gate, Activation activation, double g, double u);

// `a` is row m of A and `b` row n of B, both of length K; c and bias are the elements that belong to (m, n), 0 if
// absent.
GemmElement gemm_element(const Gemm& op, std::span<const double> a, std::span<const double> b, double c, double bias);

// How F32 is multiplied: as it is, rounded to TF32, or as the sum of two of BF16, high and low, without low * low.
enum class Products { whole, tf32, bf16x3 };

// Numbers of a, or of b, as factors whose products are summed: of bf16x3 three of each, low high high of a and high low
// high of b.
std::vector<double> factors(Products products, std::span<const double> numbers, bool of_b);

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of sample: one token of a row of logits l, in double precision, from the definition.
//   w[j]   = exp((l[j] - max l) / temperature)
//   order  = tokens by falling logit, among equals by rising index
//   top-k  keeps the first k; top-p of those the fewest first ones with at least p of their weight; min-p of those
//          the tokens with w >= min_p.  Off: k <= 0 or >= V; p <= 0 or >= 1; min_p <= 0. min_p is at most 1.
//   id     = the first kept j, by index, where the kept w[0..j] add up to more than x / 2^64 of all kept w
//   temperature 0: the first token of the order. A NaN in l or a setting, nothing above -infinity, a temperature below
//   0 or infinite: no token, -1. +infinity: those tokens alone, w = 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ref {

// Philox4x32-10 (Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The drawn number of a row: words 0 and 1 of key (seed) and counter (offset, row, 0).
uint64_t drawn_number(uint64_t seed, uint64_t offset, uint32_t row);

struct Sample {
    double temperature = 0, top_p = 0, min_p = 0;
    int64_t top_k = 0;
};

// Which tokens an implementation may choose whose weights are off by little: by relative_0 + a * relative_per_a of
// themselves, where a = (max l - l[j]) / temperature, and by `absolute`; but a token with the largest logit weighs 1.
// Nearly always one; rising.
struct WeightError {
    double relative_0 = 0, relative_per_a = 0, absolute = 0;
};
std::vector<int64_t> sample_row(const Sample& op, std::span<const double> logits, uint64_t x, const WeightError& error);

} // namespace ref

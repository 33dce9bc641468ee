// SPDX-License-Identifier: Apache-2.0
// Oracle of rope: the heads of one token, turned pair by pair, in long double from the definition.
//   pair i of R/2 is (x[i], x[i + R/2]), or (x[2i], x[2i + 1]) if interleaved
//   angle = position * theta^(-2i/R)
//   first' = first c - second s;  second' = second c + first s;  x[R:] stays
#pragma once

#include <cstdint>
#include <span>

namespace ref {

struct Turn {
    double c = 1, s = 0;
};

// The sine and cosine of pair i of `pairs`. Errs by less than 2^-60 |position|: the product with a 64-bit significand.
Turn rope_turn(int64_t position, double theta, int64_t i, int64_t pairs);

// Where the two elements of pair i stand in a head.
struct Pair {
    int64_t first, second;
};
Pair rope_pair(int64_t i, int64_t pairs, bool interleaved);

// One head; turns has one entry for each pair. y is not rounded.
void rope_head(std::span<const double> x, std::span<const Turn> turns, bool interleaved, std::span<double> y);

} // namespace ref

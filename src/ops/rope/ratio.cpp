// SPDX-License-Identifier: Apache-2.0
// The power of a long double has other last bits on another host: here it only says where to look, and integers decide.
// Called by check.cpp.
#include "ops/rope/ratio.h"

#include <cmath>
#include <limits>

namespace spark {
namespace {

using Wide = unsigned __int128;
constexpr Wide TOP = Wide{1} << 127;

// bits / 2^128 * 2^exponent, with the highest of the bits set.
struct Number {
    Wide bits;
    int exponent;
};

Wide upper_half(Wide a, Wide b) {
    const Wide a0 = static_cast<uint64_t>(a), a1 = a >> 64, b0 = static_cast<uint64_t>(b), b1 = b >> 64;
    const Wide middle =
        static_cast<Wide>(static_cast<uint64_t>(a0 * b1)) + static_cast<uint64_t>(a1 * b0) + (a0 * b0 >> 64);
    return a1 * b1 + (a0 * b1 >> 64) + (a1 * b0 >> 64) + (middle >> 64);
}

Number operator*(Number a, Number b) {
    Number product{upper_half(a.bits, b.bits), a.exponent + b.exponent};
    if (product.bits < TOP) product = {product.bits << 1, product.exponent - 1};
    return product;
}

// Whether theta * (ratio / 2^64)^pairs <= 1. The products lose less than a unit of `ratio` changes.
bool fits(uint64_t ratio, Number theta, int64_t pairs) {
    if (ratio == 0) return true;
    const int empty = __builtin_clzll(ratio);
    Number power{static_cast<Wide>(ratio) << (64 + empty), -empty}, product = theta;
    for (int64_t left = pairs;; power = power * power) {
        if (left & 1) product = product * power;
        if ((left >>= 1) == 0) break;
    }
    return product.exponent <= 0 || (product.exponent == 1 && product.bits == TOP);
}

} // namespace

uint64_t rope_ratio(float theta, int64_t pairs) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    const long double near = ldexpl(powl(theta, -1.0L / static_cast<long double>(pairs)), 64);
    uint64_t ratio = near >= 0x1p64L ? UINT64_MAX : static_cast<uint64_t>(near);

    int exponent = 0;
    const float fraction = frexpf(theta, &exponent);
    const Number exact{static_cast<Wide>(fraction * 0x1p24f) << 104, exponent};
    while (!fits(ratio, exact, pairs)) --ratio;
    while (ratio != UINT64_MAX && fits(ratio + 1, exact, pairs)) ++ratio;
    return ratio;
}

} // namespace spark

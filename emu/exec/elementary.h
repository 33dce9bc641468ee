// SPDX-License-Identifier: Apache-2.0
// Elementary functions of a float's value, in double precision: a few units of 2^-52, with the same bits on every host,
// which a host's libm does not promise. For handler files only; compared with libm by tests/emu/num.
#pragma once

#include "lanes.h"

namespace emu::EMU_LEVEL {

// 2^x for |x| <= 2000: a Taylor series of the fraction's half range, about 1e-15.
EMU_INLINE double exp2_double(double x) {
    double shifted = x + 0x1.8p52, n = shifted - 0x1.8p52, t = (x - n) * 0.6931471805599453094;
    double p = 1.0 / 39916800;
    const double c[] = {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                        1.0 / 24,      1.0 / 6,      0.5,         1,          1};
    for (double k : c) p = p * t + k;
    uint64_t scale = (bits_as<uint64_t>(shifted) + 1023) << 52; // n sits in the low bits of `shifted`
    return p * bits_as<double>(scale);
}

// x = 2^e m with m from sqrt(1/2) to sqrt(2); log2(m) is the series of 2 atanh((m - 1) / (m + 1)) / ln(2).
EMU_INLINE double log2_double(double x) {
    constexpr uint64_t ROOT = 0x3fe6a09e667f3bcdull; // sqrt(1/2)
    const uint64_t bits = bits_as<uint64_t>(x), above = bits - ROOT;
    const double e = double(int64_t(above) >> 52);
    const double m = bits_as<double>(bits - (above & 0xfff0000000000000ull));
    const double s = (m - 1) / (m + 1), q = s * s;
    double p = 1.0 / 25;
    for (int k = 23; k > 0; k -= 2) p = p * q + 1.0 / k;
    const double finite = e + s * p * 0x1.71547652b82fep+1;
    const double edge = x == 0 ? -__builtin_inf() : x > 0 ? x : __builtin_nan("");
    return x > 0 && x < __builtin_inf() ? finite : edge;
}

// By exponentials; near 0, where those cancel, by a continued fraction.
EMU_INLINE double tanh_double(double x) {
    const double a = __builtin_fabs(x), q = x * x;
    const double e = exp2_double((a > 40 ? 40 : a) * -0x1.71547652b82fep+1);
    const double large = (1 - e) / (1 + e);
    const double small = a / (1 + q / (3 + q / (5 + q / (7 + q / (9 + q / (11 + q / 13))))));
    const double r = a < 0.25 ? small : large;
    return x == x ? __builtin_copysign(r, x) : x;
}

// A multiple of pi/2, of which only the last two bits are kept, and what is left: at most pi/4.
struct Quadrant {
    unsigned n;
    double rest;
};
// Bits of 2/pi, from the first that stands for less than a whole circle, times a float of at least 2^25: exact.
EMU_INLINE Quadrant far_quadrant(double a) {
    constexpr uint64_t TWO_OVER_PI[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561};
    using Wide = unsigned __int128;
    const uint64_t bits = bits_as<uint64_t>(a), significand = ((bits & 0xfffffffffffffull) | 1ull << 52) >> 29;
    const unsigned first = unsigned(bits >> 52) - 1023 - 23 - 2, word = first / 64, shift = first % 64;
    Wide window = Wide(TWO_OVER_PI[word]) << 64 | TWO_OVER_PI[word + 1];
    if (shift) window = window << shift | TWO_OVER_PI[word + 2] >> (64 - shift);
    const Wide turns = window * significand, fraction = turns << 2; // two bits of quarters, then the fraction
    const double high = double(int64_t(uint64_t(fraction >> 64))), low = double(uint64_t(fraction));
    return {unsigned((turns + (Wide(1) << 125)) >> 126), (high * 0x1p-64 + low * 0x1p-128) * 0x1.921fb54442d18p+0};
}
// Nearer, pi/2 in three parts: the products with the first two are exact.
EMU_INLINE Quadrant near_quadrant(double a) {
    const double shifted = a * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double rest = ((a - n * 0x1.921fb54p+0) - n * 0x1.10b461p-30) - n * 0x1.a62633145c06ep-58;
    return {unsigned(bits_as<uint64_t>(shifted)), rest};
}

EMU_INLINE double sine_near(double x) { // of at most pi/4
    const double q = x * x;
    double p = 1;
    for (int k = 17; k > 1; k -= 2) p = 1 - p * q / (k * (k - 1));
    return p * x;
}
EMU_INLINE double cosine_near(double x) {
    const double q = x * x;
    double p = 1;
    for (int k = 18; k > 0; k -= 2) p = 1 - p * q / (k * (k - 1));
    return p;
}
// sin(x + turn pi/2) of a float's value: turn is 1 for the cosine.
EMU_INLINE double sine_double(double x, unsigned turn) {
    const double a = __builtin_fabs(x);
    if (!(a < __builtin_inf())) return x - x;
    const Quadrant at = a < 0x1p25 ? near_quadrant(a) : far_quadrant(a);
    const unsigned n = at.n + turn;
    const double r = n & 1 ? cosine_near(at.rest) : sine_near(at.rest);
    const bool negative = (n >> 1 & 1) != (turn == 0 && x < 0);
    return x == 0 && turn == 0 ? x : negative ? -r : r;
}

} // namespace emu::EMU_LEVEL

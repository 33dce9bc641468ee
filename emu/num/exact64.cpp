// SPDX-License-Identifier: Apache-2.0
// What exact64.h says: 128-bit integers that keep every bit, or a last one that stands for those below it.
#include "exact64.h"

#include <cmath>

namespace emu::num {
namespace {

using Wide = unsigned __int128;

// A value: significand * 2^exponent; the lowest bit is set if something was cut below it.
struct Value {
    bool negative = false;
    Wide significand = 0;
    int exponent = 0;
};

Value value_of(double d) {
    const Parts parts = decode(std::bit_cast<uint64_t>(d), F64);
    return {parts.negative, parts.significand, parts.exponent};
}

int bits_in(Wide v) {
    const uint64_t high = uint64_t(v >> 64);
    return high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(uint64_t(v));
}

// Shifts right and keeps in the lowest bit whether anything was lost.
Wide cut(Wide v, int shift) {
    if (shift <= 0) return v;
    if (shift > 127) return v != 0;
    return v >> shift | Wide((v & ((Wide(1) << shift) - 1)) != 0);
}

double rounded(const Value& v, Round round) {
    constexpr int KEPT = 62; // more than two bits beyond f64's
    const int over = bits_in(v.significand) - KEPT;
    Parts parts;
    parts.negative = v.negative;
    parts.significand = uint64_t(cut(v.significand, over));
    parts.exponent = v.exponent + (over > 0 ? over : 0);
    return std::bit_cast<double>(encode(parts, F64, {round}));
}

// The leading bit at 124: room for a sum, and so many bits below that only far smaller terms lose any.
Value at_top(Value v) {
    const int shift = 125 - bits_in(v.significand);
    v.significand <<= shift;
    v.exponent -= shift;
    return v;
}

double zero_sum(bool a, bool b, Round round) { return (a == b ? a : round == Round::down) ? -0.0 : 0.0; }

} // namespace

double fma_f64(double a, double b, double c, Round round) {
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) {
        const double r = std::isfinite(a) && std::isfinite(b) ? c : a * b + c;
        return r == r ? r : std::bit_cast<double>(F64.nan);
    }
    Value x = value_of(a), z = value_of(c);
    const Value y = value_of(b);
    x.negative ^= y.negative;
    x.significand *= y.significand;
    x.exponent += y.exponent;
    if (!x.significand && !z.significand) return zero_sum(x.negative, z.negative, round);
    if (!x.significand) return rounded(z, round);
    if (!z.significand) return rounded(x, round);
    x = at_top(x), z = at_top(z);
    if (x.exponent < z.exponent || (x.exponent == z.exponent && x.significand < z.significand)) std::swap(x, z);
    const Wide small = cut(z.significand, x.exponent - z.exponent);
    if (x.negative == z.negative) x.significand += small;
    else if (x.significand == small) return zero_sum(x.negative, z.negative, round);
    else x.significand -= small; // the last bit of `small` is of things that are not there: so is the difference's
    return rounded(x, round);
}

double divide_f64(double a, double b, Round round) {
    if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) {
        const double r = a / b;
        return r == r ? r : std::bit_cast<double>(F64.nan);
    }
    Value x = value_of(a);
    const Value y = value_of(b);
    const int shift = 120 - bits_in(x.significand);
    x.significand <<= shift;
    const Wide quotient = x.significand / y.significand;
    const bool rest = quotient * y.significand != x.significand;
    return rounded({x.negative != y.negative, quotient | Wide(rest), x.exponent - shift - y.exponent}, round);
}

double root_f64(double a, Round round) {
    if (!(a > 0) || !std::isfinite(a)) {
        const double r = std::sqrt(a);
        return r == r ? r : std::bit_cast<double>(F64.nan);
    }
    Value x = value_of(a);
    int shift = 126 - bits_in(x.significand);
    shift -= (x.exponent - shift) & 1; // an even exponent has a root
    x.significand <<= shift;
    Wide root = 0;
    for (Wide bit = Wide(1) << 63; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= x.significand) root |= bit;
    const bool rest = root * root != x.significand;
    return rounded({false, root << 1 | Wide(rest), (x.exponent - shift) / 2 - 1}, round);
}

} // namespace emu::num

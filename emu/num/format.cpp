// SPDX-License-Identifier: Apache-2.0
// Exact encoding and decoding of number formats: integers only, one rounding.
// Called through format.h. Does not know which instruction asks.
#include "format.h"

namespace emu::num {

Parts decode(uint64_t bits, const Format& format) {
    Parts parts;
    const uint64_t mantissa = bits & ((1ull << format.mantissa_bits) - 1);
    const int field = int(bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    const bool top = field == (1 << format.exponent_bits) - 1;
    parts.negative = bits & format.sign_bit();
    if (format.specials == Specials::ieee && top) {
        parts.kind = mantissa ? Parts::Kind::nan : Parts::Kind::infinite;
        return parts;
    }
    if (format.specials == Specials::nan && (bits & (format.sign_bit() - 1)) == format.sign_bit() - 1) {
        parts.kind = Parts::Kind::nan;
        return parts;
    }
    parts.significand = field ? mantissa | 1ull << format.mantissa_bits : mantissa;
    parts.exponent = (field ? field : 1) - format.bias() - format.mantissa_bits;
    return parts;
}

namespace {

// Whether a magnitude whose dropped bits are `rest` out of `unit` must be raised by one.
bool raise(Round round, bool negative, bool odd, uint64_t rest, uint64_t half, bool sticky) {
    const bool inexact = rest || sticky;
    switch (round) {
    case Round::nearest_even: return rest > half || (rest == half && (sticky || odd));
    case Round::nearest_away: return rest >= half;
    case Round::zero: return false;
    case Round::down: return inexact && negative;
    case Round::up: return inexact && !negative;
    }
    return false;
}

// significand * 2^-drop as an integer, rounded. drop may be anything; a left shift must not lose bits.
uint64_t shift_round(uint64_t significand, int drop, Round round, bool negative) {
    if (significand == 0) return 0;
    if (drop <= 0) return significand << -drop;
    if (drop > 64) return raise(round, negative, false, 0, 1, true) ? 1 : 0;
    const uint64_t kept = drop == 64 ? 0 : significand >> drop;
    const uint64_t rest = drop == 64 ? significand : significand & ((1ull << drop) - 1);
    return kept + raise(round, negative, kept & 1, rest, 1ull << (drop - 1), false);
}

// What stands for an infinity.
uint64_t beyond_largest(const Format& format) {
    return format.specials == Specials::ieee ? format.infinity() : format.nan;
}

uint64_t overflow(bool negative, const Format& format, EncodeHow how) {
    const bool toward_zero =
        how.round == Round::zero || (how.round == Round::down && !negative) || (how.round == Round::up && negative);
    if (how.finite || toward_zero) return format.largest();
    return beyond_largest(format);
}

} // namespace

uint64_t encode(const Parts& parts, const Format& format, EncodeHow how) {
    if (parts.kind == Parts::Kind::nan) return format.nan;
    if (how.relu && parts.negative) return 0;
    const uint64_t sign = parts.negative ? format.sign_bit() : 0;
    if (parts.kind == Parts::Kind::infinite) return sign | (how.finite ? format.largest() : beyond_largest(format));
    if (parts.significand == 0) return sign;
    // The last kept bit has weight 2^quantum: mantissa_bits below the leading bit, or the subnormals' fixed one.
    const int lead = 63 - std::countl_zero(parts.significand) + parts.exponent;
    const int least = 1 - format.bias();
    int quantum = (lead > least ? lead : least) - format.mantissa_bits;
    uint64_t kept = shift_round(parts.significand, quantum - parts.exponent, how.round, parts.negative);
    if (kept >> (format.mantissa_bits + 1)) kept >>= 1, ++quantum;
    const bool normal = kept >> format.mantissa_bits;
    if (!normal) return sign | (how.flush ? 0 : kept);
    const int field = quantum + format.mantissa_bits + format.bias();
    const uint64_t bits = (uint64_t(field) << format.mantissa_bits) | (kept & ((1ull << format.mantissa_bits) - 1));
    if (field >= (1 << format.exponent_bits) || bits > format.largest())
        return sign | overflow(parts.negative, format, how);
    return sign | bits;
}

Integer to_integer(const Parts& parts, Round round) {
    Integer out;
    if (parts.significand == 0) return out;
    if (parts.exponent > 0 && std::countl_zero(parts.significand) < parts.exponent) {
        out.magnitude = ~0ull;
        out.beyond = true;
        return out;
    }
    out.magnitude = shift_round(parts.significand, -parts.exponent, round, parts.negative);
    return out;
}

uint64_t convert(uint64_t bits, const Format& from, const Format& to, EncodeHow how) {
    return encode(decode(bits, from), to, how);
}

uint64_t round_to_integral(uint64_t bits, const Format& format, Round round) {
    Parts parts = decode(bits, format);
    if (parts.kind != Parts::Kind::finite || parts.exponent >= 0) return encode(parts, format);
    parts.significand = to_integer(parts, round).magnitude;
    parts.exponent = 0;
    return encode(parts, format);
}

Parts parts_of_unsigned(uint64_t value) {
    Parts parts;
    parts.significand = value;
    return parts;
}

Parts parts_of_signed(int64_t value) {
    Parts parts;
    parts.negative = value < 0;
    parts.significand = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
    return parts;
}

} // namespace emu::num

// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 in handlers: branch-free conversions that vectorise, and rounding of a double with a known remainder.
// (emu/num has the plain, readable versions that tests compare with.)
#pragma once

#include "lanes.h"

namespace emu::EMU_LEVEL {

EMU_INLINE float half_to_float(uint32_t h) {
    uint32_t o = (h & 0x7fff) << 13, e = o & 0x0f800000u;
    uint32_t normal = o + (112u << 23);
    uint32_t special = normal + (112u << 23);
    float small = bits_as<float>(o + (113u << 23)) - bits_as<float>(113u << 23);
    uint32_t r = e == 0x0f800000u ? special : e == 0 ? bits_as<uint32_t>(small) : normal;
    return bits_as<float>(r | ((h & 0x8000) << 16));
}
EMU_INLINE uint32_t float_to_half(float f) {
    uint32_t u = bits_as<uint32_t>(f), x = u & 0x7fffffffu;
    uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(x) + 0.5f) - 0x3f000000u;
    uint32_t normal = (x + 0xc8000fffu + ((x >> 13) & 1)) >> 13;
    uint32_t r = x > 0x7f800000u ? 0x7fffu : x >= 0x47800000u ? 0x7c00u : x < 0x38800000u ? subnormal : normal;
    return x > 0x7f800000u ? r : r | ((u >> 16) & 0x8000);
}
EMU_INLINE float bf16_to_float(uint32_t h) { return bits_as<float>(h << 16); }
EMU_INLINE uint32_t float_to_bf16(float f) {
    uint32_t u = bits_as<uint32_t>(f);
    uint32_t r = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r;
}
template <bool BF> EMU_INLINE float widen(uint32_t h) {
    return BF ? bf16_to_float(h & 0xffff) : half_to_float(h & 0xffff);
}
template <bool BF> EMU_INLINE uint32_t narrow(float f) { return BF ? float_to_bf16(f) : float_to_half(f); }

// a + b = s + e exactly.
EMU_INLINE double two_sum(double a, double b, double& e) {
    double s = a + b, bb = s - a;
    e = (a - (s - bb)) + (b - bb);
    return s;
}
// s + e as a float rounded to odd: a later rounding to fewer bits is then right.
EMU_INLINE float to_odd(double s, double e) {
    float f = float(s);
    double rest = s - double(f);
    double sign = rest != 0 ? rest : e;
    uint32_t u = bits_as<uint32_t>(f);
    bool lost = sign > 0 || sign < 0; // of infinities nothing is: there it is NaN
    bool adjust = lost && f == f && !(u & 1) && (u & 0x7fffffffu) != 0;
    bool outward = (sign > 0) == (f > 0);
    return adjust ? bits_as<float>(outward ? u | 1 : u - 1) : f;
}

EMU_INLINE float flush(float f) { // subnormals to zero of the same sign
    uint32_t u = bits_as<uint32_t>(f);
    return bits_as<float>(u & 0x7f800000u ? u : u & 0x80000000u);
}
// f64 keeps the payload of an operand that is NaN, made quiet, and its sign: of the first of these that is one. An
// invalid operation makes the default. Which operand comes first is what an H200 does.
EMU_INLINE double payload(double d) { return bits_as<double>(bits_as<uint64_t>(d) | 1ull << 51); }
EMU_INLINE double with_payload(double r, double first, double second, double third) {
    if (r == r) return r;
    const double nan = first != first ? first : second != second ? second : third;
    return nan != nan ? payload(nan) : bits_as<double>(0xfff8000000000000ull);
}
EMU_INLINE double with_payload(double r, double first, double second) { return with_payload(r, first, second, second); }
EMU_INLINE float canonical(float f) { return f == f ? f : bits_as<float>(0x7fffffffu); }
EMU_INLINE float clamp01(float f) { return f > 0 ? (f < 1 ? f : 1.0f) : 0.0f; } // NaN becomes 0

} // namespace emu::EMU_LEVEL

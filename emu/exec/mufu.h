// SPDX-License-Identifier: Apache-2.0
// The special function unit as an H200 has it, bit for bit, 32 lanes at a time: a segment of a table is chosen by the
// first bits of the argument, c0 + c1 low + c2 square(low) is summed exactly and cut to a float. Negative fixed-point
// numbers are one's complements. Subnormal arguments and results are zeros. For handler files only; tests/emu/num
// compares it with what the card gave for all 2^32 arguments.
#pragma once

#include "../num/mufu.h"
#include "half.h"

namespace emu::EMU_LEVEL {

constexpr uint32_t MUFU_NAN = 0x7fffffff, MUFU_INF = 0x7f800000, MUFU_SIGN = 0x80000000, MUFU_LOW = 0x1ffff;

// low^2 / 2^19 of 17 bits, but without the products of two bits that stand for less than 1. Takes them in two parts, of
// 8 and 9 bits: everything fits into 16.
EMU_INLINE uint16_t mufu_square(uint16_t high, uint16_t rest) {
    uint16_t sum = uint16_t(high * high) >> 1;
    for (int i = 1; i < 8; i++) sum += uint16_t(-(high >> (8 - i) & 1)) & (rest >> (i + 1));
    return sum;
}
EMU_INLINE uint32_t mufu_cut(double d) { // to a float, toward zero; not for what is subnormal there
    return bits_as<uint32_t>(float(bits_as<double>(bits_as<uint64_t>(d) & ~0x1fffffffull)));
}

// Where the table is entered, and what the end needs besides the argument.
struct MufuPlace {
    uint32_t segment, low, turn;
};

struct MufuRcp {
    static constexpr const auto& TABLE = num::mufu_rcp;
    static EMU_INLINE MufuPlace place(uint32_t x) { return {x >> 16 & 127, (x & 0xffff) << 1, 0}; }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN, v = mufu_cut(sum);
        const int32_t r = int32_t(v + ((127 - exponent) << 23));
        const uint32_t finite = r < 0x00800000 ? 0 : uint32_t(r);
        const uint32_t nan = x & 0x7fffff ? MUFU_NAN : sign;
        return exponent == 255 ? nan : exponent == 0 ? sign | MUFU_INF : sign | finite;
    }
};
struct MufuRsqrt {
    static constexpr const auto& TABLE = num::mufu_rsqrt;
    static EMU_INLINE MufuPlace place(uint32_t x) { // an even power of two has an odd exponent field
        return {(x >> 17 & 63) | (x >> 23 & 1 ? 0 : 64), x & MUFU_LOW, 0};
    }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t v = (x & 0xffffff) == 0x800000 ? 0x3f800000 : mufu_cut(sum); // the sum would be one place less
        const uint32_t finite = v + ((63 - (exponent + 1) / 2) << 23) + (1u << 23);
        const uint32_t top = x == MUFU_INF ? 0 : MUFU_NAN;
        return exponent == 0 ? sign | MUFU_INF : exponent == 255 || sign ? top : finite;
    }
};
struct MufuSqrt {
    static constexpr const auto& TABLE = num::mufu_sqrt;
    static EMU_INLINE MufuPlace place(uint32_t x) { return MufuRsqrt::place(x); }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t finite = mufu_cut(sum) + (((exponent + 1) / 2 - 64) << 23);
        const uint32_t top = x == MUFU_INF ? MUFU_INF : MUFU_NAN;
        return exponent == 0 ? sign : exponent == 255 || sign ? top : finite;
    }
};
struct MufuEx2 {
    static constexpr const auto& TABLE = num::mufu_ex2;
    static EMU_INLINE int32_t
    fixed(uint32_t x) { // 23 bits of fraction, cut; what lies beyond gives 0 or infinity anyway
        const uint32_t size = x & ~MUFU_SIGN, most = bits_as<uint32_t>(255.99998f); // as words: NaNs are above it
        const int32_t v = int32_t(bits_as<float>(size < most ? size : most) * 0x1p23f);
        const int32_t negative = ~v + int32_t((v & 0x7fffff) == 0);
        return x & MUFU_SIGN ? negative : v;
    }
    static EMU_INLINE MufuPlace place(uint32_t x) {
        const uint32_t v = uint32_t(fixed(x));
        return {v >> 17 & 63, v & MUFU_LOW, v >> 23};
    }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t turn) {
        const int32_t power = int32_t(turn << 23) >> 23;
        const uint32_t finite = mufu_cut(sum) + (uint32_t(power) << 23);
        const uint32_t r = power > 127 ? MUFU_INF : power < -126 ? 0 : finite;
        return (x & ~MUFU_SIGN) > MUFU_INF ? MUFU_NAN : r;
    }
};
struct MufuLg2 {
    static constexpr const auto& TABLE = num::mufu_lg2;
    static EMU_INLINE MufuPlace place(uint32_t x) { return {x >> 17 & 63, x & MUFU_LOW, 0}; }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t) {
        // Cut to 2^-36: what the sum has below is a multiple of 2^-38, so that this is never a tie.
        const double fraction = (sum - 0x1.8p-38) + 0x1.8p16 - 0x1.8p16;
        const int32_t power = int32_t(x >> 23 & 255) - 127;
        const uint32_t cut = mufu_cut(power + (fraction + (power < 0 ? 0x1p-36 : 0)));
        const uint32_t finite = x == 0x3f800000 ? 0 : cut;
        const uint32_t top = x == MUFU_INF ? MUFU_INF : MUFU_NAN;
        const bool zero = !(x & MUFU_INF);
        return zero ? MUFU_SIGN | MUFU_INF : x >= MUFU_INF ? top : finite;
    }
};
// Of x = turns of the circle, that is the product with 1 / 2 pi, cut, that a program makes first.
template <unsigned QUARTER> struct MufuTurn {
    static constexpr const auto& TABLE = num::mufu_sin;
    static EMU_INLINE uint32_t turns(uint32_t x) { return mufu_cut(double(bits_as<float>(x)) * 0x1.45f306p-3); }
    static EMU_INLINE MufuPlace place(uint32_t x) {
        const uint32_t t = turns(x), significand = (t & 0x7fffff) | 1 << 23;
        const int32_t shift = int32_t(t >> 23 & 255) - 125; // to 25 bits of fraction
        const uint32_t up = significand << (shift & 31), down = significand >> (-shift & 31);
        const uint32_t v = shift > 24 || shift < -24 ? 0 : shift < 0 ? down : up, quarter = (v >> 23) + QUARTER;
        const uint32_t within = (quarter & 1 ? ~v : v) & 0x7fffff;
        return {within >> 17, within & MUFU_LOW, quarter};
    }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t quarter) {
        const uint32_t sign = (quarter & 2) << 30 ^ (QUARTER ? 0 : x & MUFU_SIGN);
        return (x & MUFU_INF) == MUFU_INF ? MUFU_NAN : mufu_cut(sum) | sign;
    }
};
using MufuSin = MufuTurn<0>;
using MufuCos = MufuTurn<1>;
struct MufuTanh {
    static constexpr const auto& TABLE = num::mufu_tanh;
    static constexpr uint32_t LEAST = 119,
                              PAST = 130; // exponent fields: below, the argument is the result; 1 from there
    static EMU_INLINE MufuPlace place(uint32_t x) {
        const uint32_t exponent = x >> 23 & 255;
        const uint32_t binade = exponent < LEAST ? 0 : exponent >= PAST ? PAST - 1 - LEAST : exponent - LEAST;
        const uint32_t bits = num::MUFU_TANH_BITS[binade], significand = x & 0x7fffff;
        return {num::MUFU_TANH_FIRST[binade] + (significand >> (23 - bits)), significand >> (6 - bits) & MUFU_LOW, 0};
    }
    static EMU_INLINE uint32_t end(double sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t r = exponent >= PAST ? 0x3f800000 | sign : exponent < LEAST ? x : mufu_cut(sum) | sign;
        return (x & ~MUFU_SIGN) > MUFU_INF ? MUFU_NAN : r;
    }
};

// y[l] = the function of x[l], as bits of floats.
template <class F> EMU_INLINE void mufu(const uint32_t* x, uint32_t* y) {
    alignas(64) uint32_t segment[32], low[32], turn[32];
    alignas(64) uint16_t high[32], rest[32], square[32];
    alignas(64) double sum[32];
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        const MufuPlace at = F::place(x[l]);
        segment[l] = at.segment, low[l] = at.low, turn[l] = at.turn;
    }
    EMU_LANES
    for (int l = 0; l < 32; l++) high[l] = uint16_t(low[l] >> 9), rest[l] = low[l] & 511;
    EMU_LANES
    for (int l = 0; l < 32; l++) square[l] = mufu_square(high[l], rest[l]);
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        const num::MufuSegment& s = F::TABLE[segment[l]];
        sum[l] = s.c0 + (s.c1 * int32_t(low[l]) + s.c2 * int32_t(square[l]));
    }
    EMU_LANES
    for (int l = 0; l < 32; l++) y[l] = F::end(sum[l], x[l], turn[l]);
}

} // namespace emu::EMU_LEVEL

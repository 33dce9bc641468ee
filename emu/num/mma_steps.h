// SPDX-License-Identifier: Apache-2.0
// Steps of the tensor-core sum that mma_tile.cpp and mma_column.h share, in vectors of rows: C as a term, products cut
// below the largest term, bounds within which that is right.
#pragma once

#include "mma_fragments.h"
#include "mma_tile.h"

namespace emu::num::EMU_LEVEL {
namespace {

constexpr int FRACTION = TILE_FRACTION;
constexpr int NO_TERM = -0x1000; // below it: all terms are zeros, and any scale will do
constexpr int LEAST_TOP = -101;  // whose scale is a normal f32; and no product that is cut to zero can round
constexpr int MOST_TOP = 125;    // products are below 4 * 2^top
constexpr int BEYOND = 1000;     // an exponent that is never computed with
// Products are below 2^27 each in units of 2^(top - 25), so that sixteen fit; C is below 2^26. 128 as in cut_to_f32.
constexpr uint32_t MOST_TERMS = (1u << 31) - (1u << 26) - 128;

// C as a term: its exponent, and its value. A subnormal f32 seems smaller than it is, which only matters where the
// largest exponent is less than LEAST_TOP.
template <MmaOutput OUT> TILE_INLINE void split_c(const Words& c, Ints& exponent, Floats& value) {
    const Ints zero = ZERO_EXPONENT + Ints{};
    if constexpr (OUT == MmaOutput::f32) {
        const Words magnitude = c << 1;
        exponent = magnitude == 0 ? zero : Ints(magnitude >> 24) - 127;
        value = Floats(c);
    } else {
        const Ints magnitude = Ints(c) & 0x7fff, field = magnitude >> 10, shown = (field == 0 ? field + 1 : field) - 15;
        exponent = magnitude == 0 ? zero : field == 31 ? shown + BEYOND : shown;
        value = Floats(Words(Floats(magnitude << 13) * 0x1p112f) | (c & 0x8000) << 16);
    }
}

// sum * 2^(held - 25) cut to f32, where |sum| is less than 2^31 - 128.
TILE_INLINE Words cut_to_f32(const Ints& sum, const Floats& unit) {
#if TILE_WIDTH == 16
    return Words(Floats(_mm512_maskz_cvt_roundepi32_ps(0xffff, __m512i(sum), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)) *
                 unit);
#else
    const Words sign = Words(sum >> 31), magnitude = (Words(sum) ^ sign) - sign;
    const Floats near = __builtin_convertvector(Ints(magnitude), Floats);
    const Words above = (magnitude - Words(__builtin_convertvector(near, Ints))) >> 31; // 1: rounded up
    return Words(Floats(Words(near) - above) * unit) | (Words(sum) & 0x80000000u);
#endif
}

TILE_INLINE Floats scale_of(const Ints& top) {
    return Floats(Words(127 + FRACTION - larger(top, LEAST_TOP + Ints{})) << 23);
}
TILE_INLINE Floats unit_of(const Floats& scale) { return Floats((254u << 23) - Words(scale)); } // 1 / scale

// The sum of the products of a column, each cut to a multiple of 1 / scale, in those units.
template <int K, class Column> TILE_INLINE Ints sum_cut(const Floats* a, const Column& b, const Floats& scale) {
    Words terms = {};
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) terms += Words(__builtin_convertvector(a[k] * b(k) * scale, Ints));
    return Ints(terms);
}

// Of all outputs of W rows: bounds that tell whether the everyday way will do.
struct Bounds {
    Ints above = Ints{} + 2 * ZERO_EXPONENT; // the most that a top is above those of its row and column together
    Ints most = Ints{} + ZERO_EXPONENT;      // top
    Words least = Words{} - 1;               // top - NO_TERM, where there is a term
    Words size = {};                         // the largest sum of products
    TILE_INLINE void add_top(const Ints& top) {
        most = larger(most, top);
        least = smaller(least, Words(top - NO_TERM));
    }
    TILE_INLINE bool hold() const {
        const Words low = Words(least < uint32_t(LEAST_TOP - NO_TERM));
        return !any_of(Words(most > MOST_TOP) | low | Words(size > MOST_TERMS));
    }
};
TILE_INLINE Words size_of(const Ints& terms) {
    const Words negative = Words(terms < 0); // all bits; the least number is its own size here
    return (Words(terms) ^ negative) - negative;
}

} // namespace
} // namespace emu::num::EMU_LEVEL

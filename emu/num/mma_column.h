// SPDX-License-Identifier: Apache-2.0
// A tile whose columns are all the same, in B and in C: kernels for one row of a matrix, which is a column of the
// instruction, repeat it in all eight. One column is summed, from the registers as they are: fragments are not kept.
#pragma once

#include "mma_steps.h"

namespace emu::num::EMU_LEVEL {
namespace {

template <int K> TILE_INLINE bool are_alike(Planes b, Planes c) {
    if (b[0][0] != b[0][4] || c[0][0] != c[1][0]) return false; // mostly enough
    Words differs = {};
    for (int j = 0; j < K / 8; ++j) {
        const Words first = repeat_quad(b[j]);
        for (int i = 0; i < 32; i += W) differs |= load(b[j] + i) ^ first;
    }
    for (int row = 0; row < 4; row += 2)
        for (int i = 0; i < 32; i += W) {
            const Words left = load(c[row] + i);
            differs |= (left ^ load(c[row + 1] + i)) | (left ^ TILE_SHUFFLE(left, left, 0, 0, 0, 0));
        }
    return !any_of(differs);
}

// The column of B: values, pairs of exponents.
struct Column {
    float value[2][16];
    uint32_t exponents[16];
    float operator()(int k) const { return value[k % 2][k / 2]; }
};
template <int K, MmaInput IN> TILE_INLINE Column column_of(Planes b, Words& odd) {
    uint32_t words[16] = {};
    for (int j = 0; j < K / 8; ++j) std::memcpy(words + 4 * j, b[j], 16);
    Column column;
    for (int i = 0; i < K / 2; i += W) {
        Floats low, high;
        Words exponents;
        split<IN>(load(words + i), low, high, exponents, odd);
        store(column.value[0] + i, low);
        store(column.value[1] + i, high);
        store(column.exponents + i, exponents);
    }
    return column;
}

// False, and nothing is stored, if some value is infinite or NaN, or a sum out of bounds.
template <int K, MmaInput IN> __attribute__((noinline)) bool sum_column(Planes a, Planes b, Planes c, PlanesOut d) {
    constexpr int BIAS = IN == MmaInput::bf16 ? 127 : 15;
    Words odd = {}, sums[16 / W];
    const Column column = column_of<K, IN>(b, odd);
    Bounds bounds;
    for (int first = 0; first < 16; first += W) {
        Words words[8], of_c[4], exponents;
        Floats value[K];
        for (int j = 0; j < K / 8; ++j) load_rows(words + 4 * j, a[2 * j], a[2 * j + 1], first);
        Halves most = int16_t(2 * ZERO_EXPONENT) + Halves{};
        for (int p = 0; p < K / 2; ++p) {
            split<IN>(words[p], value[2 * p], value[2 * p + 1], exponents, odd);
            most = larger(most, Halves(Halves(exponents) + Halves(column.exponents[p] + Words{})));
        }
        load_rows(of_c, c[0], c[2], first);
        Ints exponent;
        Floats addend;
        split_c<MmaOutput::f32>(of_c[0], exponent, addend);
        const Ints top = larger(larger_of_pairs(most) - 2 * BIAS, exponent);
        const Floats scale = scale_of(top);
        const Ints terms = sum_cut<K>(value, column, scale);
        bounds.add_top(top);
        bounds.size = larger(bounds.size, size_of(terms));
        const Ints sum = Ints(Words(terms) + Words(__builtin_convertvector(addend * scale, Ints)));
        sums[first / W] = cut_to_f32(sum, unit_of(scale));
    }
    if (any_of(odd) || !bounds.hold()) return false;
    for (int first = 0; first < 16; first += W) {
        Words v[4] = {sums[first / W], sums[first / W], sums[first / W], sums[first / W]};
        store_rows(v, d[0], d[2], first);
        for (int s = 0; s < 4; ++s) store(d[1 + s / 2 * 2] + 16 * (s & 1) + first, v[s]);
    }
    return true;
}

} // namespace
} // namespace emu::num::EMU_LEVEL

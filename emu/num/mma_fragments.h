// SPDX-License-Identifier: Apache-2.0
// Fragments of A and B taken apart for mma_tile.cpp: values, exponents, how far these lie apart. A product mostly finds
// a fragment that a product before it had, in the same registers; then only the registers are compared.
#pragma once

#include "mma_vectors.h"

#include "mma.h"

namespace emu::num::EMU_LEVEL {
namespace {

constexpr int16_t ZERO_EXPONENT = -0x3000; // of a zero: no sum of two exponents with one is ever the largest
constexpr int NEAR = 63;                   // how far below the largest of its row or column an exponent fits `below`
constexpr uint8_t ABSENT = 127;            // a zero in `below`: sums with one exceed all others

// What both have: word p of a row or column holds its elements 2p and 2p + 1. `below` tells of elements of words t and
// t + 4 how far their exponents are below the largest of the row or column: four bytes for each t. It is left to who
// first needs it.
struct Fragment {
    int spread = 0;       // the most that an exponent is below the largest of its row or column, zeros aside
    bool special = false; // some element is infinite or NaN
    bool is_zero = false; // all elements are zeros
    // The least and the largest top of those that are not all zeros. If all are, both are some everyday exponent.
    int least_top = 0, most_top = 0;
    bool filled = false;
    bool has_below = false;
    bool is_near() const { return spread <= NEAR; }
};
struct Left : Fragment {
    alignas(64) uint32_t registers[4][32];
    alignas(64) float value[2][8][16]; // [k % 2][word][place of the row]
    alignas(64) uint32_t exponents[8][16], below[4][16];
    alignas(64) int32_t top[16];   // the largest exponent of each row, biased
    alignas(64) uint32_t unit[16]; // of each row: minus its top, in an f32's exponent; of zeros as if of most_top
};
struct Right : Fragment {
    alignas(64) uint32_t registers[2][32];
    alignas(64) float value[2][64];     // [k % 2][place of the word]: 4 n + p % 4 + 32 (p / 4) for column n
    alignas(64) uint32_t exponents[64]; // pairs
    alignas(64) uint32_t below[32];
    alignas(64) int32_t top[32];   // four times that of each column
    alignas(64) uint32_t unit[32]; // the same
    unsigned alike = 0;            // a bit for each column that is the same as the one before it
};

// Words of two elements: their values, their exponents (biased), and where an element is infinite or NaN.
template <MmaInput IN> TILE_INLINE void split(const Words& w, Floats& low, Floats& high, Words& exponents, Words& odd) {
    constexpr int16_t MANTISSA = IN == MmaInput::bf16 ? 7 : 10, SPECIAL = IN == MmaInput::bf16 ? 255 : 31;
    const Halves magnitude = Halves(w) & int16_t(0x7fff), field = magnitude >> MANTISSA;
    const Halves shown = field - (field == 0); // subnormals keep the least exponent
    exponents = Words(shown | (Halves(magnitude == 0) & ZERO_EXPONENT));
    odd |= Words(Halves(field == SPECIAL));
    if constexpr (IN == MmaInput::bf16) {
        low = Floats(w << 16);
        high = Floats(w & 0xffff0000u);
    } else { // exponent and mantissa in place; an exact product corrects the bias, of subnormals too
        low = Floats((w & 0x7fff) << 13) * 0x1p112f;
        high = Floats((w >> 3) & (0x7fff << 13)) * 0x1p112f;
        low = Floats(Words(low) | (w << 16 & 0x80000000u));
        high = Floats(Words(high) | (w & 0x80000000u));
    }
}

TILE_INLINE Ints larger_of_pairs(const Halves& pairs) {
    const Ints both = Ints(pairs);
    return larger(Ints(Words(both) << 16) >> 16, both >> 16);
}
// The largest exponents of rows or columns: of pairs, and at least that of a subnormal.
TILE_INLINE Ints top_of(const Halves& pairs) { return larger(larger_of_pairs(pairs), Ints{} + 1); }

// How far the least exponent is below the largest; `least`: of pairs, where a zero's is larger than all others.
TILE_INLINE Ints spread_below(const Ints& top, const NaturalHalves& least, Words& empty) {
    const Words both = Words(least);
    const Ints lowest = Ints(smaller(both & 0xffff, both >> 16));
    empty = Words(lowest == uint16_t(ZERO_EXPONENT));
    return Ints(Words(top - lowest) & ~empty);
}

// The tops of rows or columns that are not all zeros.
struct Range {
    Ints most = {}, below = {}; // below: how far under the largest top of f32 the least one lies
    TILE_INLINE void add(const Ints& top, const Words& empty) {
        most = larger(most, Ints(Words(top) & ~empty));
        below = larger(below, Ints(Words(255 - top) & ~empty));
    }
    TILE_INLINE void store_in(Fragment& f, int everyday) const {
        const int largest = largest_of(most);
        f.is_zero = !largest;
        f.most_top = largest ? largest : everyday;
        f.least_top = largest ? 255 - largest_of(below) : everyday;
    }
};
// -top in an f32's exponent; of zeros, for which any will do, one that is in range if those of others are.
template <int COUNT> TILE_INLINE void store_units(uint32_t* unit, const int32_t* tops, const Fragment& f) {
    for (int i = 0; i < COUNT; i += W) {
        const Ints top = load(tops + i), known = top < f.least_top ? f.most_top + Ints{} : top;
        store(unit + i, Words(-known) << 23);
    }
}

// The bytes of `below` of words t and t + 4; has_both: there are 16 elements, not 8.
TILE_INLINE Words below_top(const Ints& top, const Words& first, const Words& second, bool has_both) {
    const Halves tops = Halves(top | top << 16), zero = {};
    Words bytes = uint32_t(ABSENT) * 0x01000100u + Words{};
    for (int i = 0; i < 1 + has_both; ++i) {
        const Halves exponents = Halves(i ? second : first), below = tops - exponents;
        const Words kept = Words(exponents < 0 ? zero + int16_t(ABSENT) : below);
        bytes = i ? (bytes & 0x00ff00ffu) | kept << 8 : kept | (bytes & 0xff00ff00u);
    }
    return bytes;
}

template <int K, MmaInput IN> void take_apart(Left& f, Planes a) {
    Words odd = {};
    Ints spread = {};
    Range range;
    for (int first = 0; first < 16; first += W) {
        Words words[8];
        for (int j = 0; j < K / 8; ++j) load_rows(words + 4 * j, a[2 * j], a[2 * j + 1], first);
        Halves most = ZERO_EXPONENT + Halves{};
        NaturalHalves least = NaturalHalves(most);
        for (int p = 0; p < K / 2; ++p) {
            Floats low, high;
            Words exponents;
            split<IN>(words[p], low, high, exponents, odd);
            most = larger(most, Halves(exponents));
            least = smaller(least, NaturalHalves(exponents));
            store(&f.value[0][p][first], low);
            store(&f.value[1][p][first], high);
            store(&f.exponents[p][first], exponents);
        }
        const Ints top = top_of(most);
        Words empty;
        spread = larger(spread, spread_below(top, least, empty));
        range.add(top, empty);
        store(&f.top[first], top);
    }
    range.store_in(f, IN == MmaInput::bf16 ? 127 : 15);
    store_units<16>(f.unit, f.top, f);
    f.special = any_of(odd);
    f.spread = largest_of(spread);
}

// Kernels for a few rows repeat the last one in all columns that have none.
template <int K> TILE_INLINE unsigned alike_columns(Planes b) {
    alignas(64) uint32_t differs[32];
    for (int s = 0; s < 32 / W; ++s) {
        const int i = s * W < 28 - W ? s * W : 28 - W;
        Words d = {};
        for (int j = 0; j < K / 8; ++j) d |= load(b[j] + i) ^ load(b[j] + i + 4);
        d |= TILE_SHUFFLE(d, d, 1, 0, 3, 2);
        store(differs + i, d | TILE_SHUFFLE(d, d, 2, 3, 0, 1));
    }
    unsigned alike = 0;
    for (int n = 1; n < 8; ++n) alike |= unsigned(!differs[4 * n - 4]) << n;
    return alike;
}

template <int K, MmaInput IN> void take_apart(Right& f, Planes b) {
    Words odd = {};
    Ints spread = {};
    Range range;
    for (int i = 0; i < 32; i += W) {
        Halves most = ZERO_EXPONENT + Halves{};
        NaturalHalves least = NaturalHalves(most);
        for (int j = 0; j < K / 8; ++j) {
            Floats low, high;
            Words exponents;
            split<IN>(load(b[j] + i), low, high, exponents, odd);
            most = larger(most, Halves(exponents));
            least = smaller(least, NaturalHalves(exponents));
            store(&f.value[0][32 * j + i], low);
            store(&f.value[1][32 * j + i], high);
            store(&f.exponents[32 * j + i], exponents);
        }
        Ints top = top_of(most);
        top = larger(top, TILE_SHUFFLE(top, top, 1, 0, 3, 2));
        top = larger(top, TILE_SHUFFLE(top, top, 2, 3, 0, 1));
        store(&f.top[i], top);
        Words empty;
        spread = larger(spread, spread_below(top, least, empty));
        range.add(top, empty);
    }
    range.store_in(f, IN == MmaInput::bf16 ? 127 : 15);
    store_units<32>(f.unit, f.top, f);
    f.alike = alike_columns<K>(b);
    f.special = any_of(odd);
    f.spread = largest_of(spread);
}

template <int K> __attribute__((noinline)) void find_below(Left& f) {
    for (int first = 0; first < 16; first += W)
        for (int t = 0; t < 4; ++t) {
            const Words second = K == 16 ? load(&f.exponents[t + 4][first]) : Words{};
            store(&f.below[t][first], below_top(load(&f.top[first]), load(&f.exponents[t][first]), second, K == 16));
        }
    f.has_below = true;
}
template <int K> __attribute__((noinline)) void find_below(Right& f) {
    for (int i = 0; i < 32; i += W) {
        const Words second = K == 16 ? load(&f.exponents[32 + i]) : Words{};
        store(&f.below[i], below_top(load(&f.top[i]), load(&f.exponents[i]), second, K == 16));
    }
    f.has_below = true;
}

template <int K, MmaInput IN, int N, class F> __attribute__((noinline)) void refill(F& f, Planes registers) {
    for (int r = 0; r < N; ++r) std::memcpy(f.registers[r], registers[r], sizeof f.registers[r]);
    take_apart<K, IN>(f, registers);
    f.filled = true;
    f.has_below = false;
}

// Fragments that were last taken apart, by the place of their registers.
template <int K, MmaInput IN> struct Fragments {
    static constexpr unsigned LEFT = 4, RIGHT = 8;
    Left left[LEFT];
    Right right[RIGHT];
    TILE_INLINE Left& of_a(Planes a) { return checked<K / 4>(left[reinterpret_cast<uintptr_t>(a[0]) / 512 % LEFT], a); }
    TILE_INLINE Right& of_b(Planes b) {
        return checked<K / 8>(right[reinterpret_cast<uintptr_t>(b[0]) / 128 % RIGHT], b);
    }

private:
    template <int N, class F> TILE_INLINE F& checked(F& f, Planes registers) {
        Words differs = {};
        for (int r = 0; r < N; ++r)
            for (int i = 0; i < 32; i += W) differs |= load(f.registers[r] + i) ^ load(registers[r] + i);
        if (__builtin_expect(!f.filled || any_of(differs), 0)) refill<K, IN, N>(f, registers);
        return f;
    }
};
template <int K, MmaInput IN> __attribute__((noinline)) Fragments<K, IN>& fragments() {
    thread_local Fragments<K, IN> kept;
    return kept;
}

} // namespace
} // namespace emu::num::EMU_LEVEL

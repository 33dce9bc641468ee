// SPDX-License-Identifier: Apache-2.0
// The tensor-core sum of a whole tile, in vectors: the model of mma.h for everyday values. Called through the tables of
// mma_tile.h; outputs that it may not compute (infinities, NaN, results or sums out of range) it gives to mma_exact.
//
// A vector holds W of the 16 rows of one column, so that B is one value for all lanes. In registers lane 4g + t has row
// g, and t counts columns; four vectors of registers, transposed in their quads, are vectors of rows. In which order
// rows stand there does not matter, as long as A, C and D agree: place i is row 4 (i % 4) + i / 4.
#include "mma_tile.h"

#include <cstring>

#if defined(__AVX512F__)
#define TILE_WIDTH 16
#elif defined(__AVX2__)
#define TILE_WIDTH 8
#else
#define TILE_WIDTH 4
#endif

namespace emu::num::EMU_LEVEL {
namespace {

#define TILE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define TILE_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TILE_LANES _Pragma("GCC ivdep")
#endif

constexpr int W = TILE_WIDTH;
typedef uint32_t Words __attribute__((vector_size(4 * W)));
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef float Floats __attribute__((vector_size(4 * W)));
typedef int16_t Halves __attribute__((vector_size(4 * W))); // a pair for each word

constexpr int FRACTION = TILE_FRACTION;
constexpr int16_t ZERO_EXPONENT = -0x3000; // of a zero: no sum of two exponents with one is ever the largest
constexpr int NO_TERM = -0x1000;           // below it: all terms are zeros, and any scale will do
constexpr int LEAST_TOP = -101;            // whose scale is a normal f32; and no product that is cut to zero can round
constexpr int MOST_TOP = 125;              // products are below 4 * 2^top
constexpr int BEYOND = 1000;               // an exponent that is never computed with

struct Tile {
    alignas(64) float b[2][64];     // [k % 2][place of the word]: word 4 n + p % 4 + 32 (p / 4) for column n, p = k / 2
    alignas(64) uint32_t b_exp[64]; // pairs
    alignas(64) uint32_t c[8][16], d[8][16];
    alignas(64) int32_t sum[8][16], top[8][16]; // for f16 only
    alignas(64) uint32_t redo[8][16];
};

TILE_INLINE Words load(const uint32_t* from) {
    Words v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
TILE_INLINE void store(uint32_t* to, const Words& v) { std::memcpy(to, &v, sizeof v); }

#if TILE_WIDTH == 16
#define TILE_SHUFFLE(x, y, a, b, c, d)                                                                                \
    __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, \
                            c + 12, d + 12)
#elif TILE_WIDTH == 8
#define TILE_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4)
#else
#define TILE_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#endif

// v[s][quad q][t] becomes v[t][quad q][s].
TILE_INLINE void transpose_quads(Words* v) {
    const Words low01 = TILE_SHUFFLE(v[0], v[1], 0, W, 1, W + 1), low23 = TILE_SHUFFLE(v[2], v[3], 0, W, 1, W + 1);
    const Words high01 = TILE_SHUFFLE(v[0], v[1], 2, W + 2, 3, W + 3),
                high23 = TILE_SHUFFLE(v[2], v[3], 2, W + 2, 3, W + 3);
    v[0] = TILE_SHUFFLE(low01, low23, 0, 1, W, W + 1);
    v[1] = TILE_SHUFFLE(low01, low23, 2, 3, W + 2, W + 3);
    v[2] = TILE_SHUFFLE(high01, high23, 0, 1, W, W + 1);
    v[3] = TILE_SHUFFLE(high01, high23, 2, 3, W + 2, W + 3);
}

// W places, from `first` on, of the registers `low` (rows 0..7) and `high` (rows 8..15): v[t] is column t of a quad.
TILE_INLINE void load_rows(Words* v, const uint32_t* low, const uint32_t* high, int first) {
    for (int s = 0; s < 4; ++s) v[s] = load((s < 2 ? low : high) + 16 * (s & 1) + first);
    transpose_quads(v);
}
TILE_INLINE void store_rows(Words* v, uint32_t* low, uint32_t* high, int first) {
    transpose_quads(v);
    for (int s = 0; s < 4; ++s) store((s < 2 ? low : high) + 16 * (s & 1) + first, v[s]);
}

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

TILE_INLINE Ints larger(const Ints& a, const Ints& b) { return a > b ? a : b; }
TILE_INLINE uint32_t any_of(const Words& v) {
    uint32_t any = 0;
    for (int i = 0; i < W; ++i) any |= v[i];
    return any;
}

// C as a term: its exponent, and its magnitude in units of 2^(exponent - 25).
template <MmaOutput OUT> TILE_INLINE void split_c(const Words& c, Ints& exponent, Ints& units) {
    constexpr bool WIDE = OUT == MmaOutput::f32;
    constexpr int MANTISSA = WIDE ? 23 : 10, BIAS = WIDE ? 127 : 15, SPECIAL = WIDE ? 255 : 31;
    const Ints magnitude = Ints(c) & (WIDE ? 0x7fffffff : 0x7fff), field = magnitude >> MANTISSA;
    exponent = magnitude == 0 ? field + int(ZERO_EXPONENT) : (field == 0 ? field + 1 : field) - BIAS;
    if constexpr (!WIDE) exponent = field == SPECIAL ? exponent + BEYOND : exponent; // of f32 it is too large anyway
    const Ints significand = field == 0 ? magnitude : (magnitude & ((1 << MANTISSA) - 1)) | 1 << MANTISSA;
    units = significand << (FRACTION - MANTISSA);
}

template <int K, MmaInput IN> TILE_INLINE uint32_t split_columns(Tile& t, Planes b) {
    Words odd = {};
    for (int j = 0; j < K / 8; ++j)
        for (int i = 0; i < 32; i += W) {
            Floats low, high;
            Words exponents;
            split<IN>(load(b[j] + i), low, high, exponents, odd);
            std::memcpy(&t.b[0][32 * j + i], &low, sizeof low);
            std::memcpy(&t.b[1][32 * j + i], &high, sizeof high);
            store(&t.b_exp[32 * j + i], exponents);
        }
    return any_of(odd);
}

// sum * 2^(held - 25) cut to f32, where |sum| is less than 2^31 - 128.
TILE_INLINE Words cut_to_f32(const Ints& sum, const Ints& held) {
    const Words sign = Words(sum >> 31), magnitude = (Words(sum) ^ sign) - sign;
    const Floats near = __builtin_convertvector(Ints(magnitude), Floats);
    const Words above = (magnitude - Words(__builtin_convertvector(near, Ints))) >> 31; // 1: rounded up
    const Floats scale = Floats(Words(held + (127 - FRACTION)) << 23);
    return Words(Floats(Words(near) - above) * scale) | (Words(sum) & 0x80000000u);
}

template <MmaOutput OUT> TILE_INLINE void load_c(Tile& t, Planes c, int first) {
    Words v[4];
    if constexpr (OUT == MmaOutput::f32) {
        for (int side = 0; side < 2; ++side) {
            load_rows(v, c[side], c[2 + side], first);
            for (int q = 0; q < 4; ++q) store(&t.c[2 * q + side][first], v[q]);
        }
    } else {
        load_rows(v, c[0], c[1], first);
        for (int q = 0; q < 4; ++q) {
            store(&t.c[2 * q][first], v[q] & 0xffff);
            store(&t.c[2 * q + 1][first], v[q] >> 16);
        }
    }
}

// W rows of all columns. Sets *special if some element is infinite or NaN; returns non-zero if t.redo has an entry.
template <int K, MmaInput IN, MmaOutput OUT>
TILE_INLINE uint32_t sum_rows(Tile& t, Planes a, int first, uint32_t* special) {
    constexpr int BIAS = IN == MmaInput::bf16 ? 127 : 15;
    Words words[8], exponents[8], odd = {}, redo = {};
    Floats low[8], high[8];
    for (int j = 0; j < K / 8; ++j) load_rows(words + 4 * j, a[2 * j], a[2 * j + 1], first);
    for (int p = 0; p < K / 2; ++p) split<IN>(words[p], low[p], high[p], exponents[p], odd);
    *special |= any_of(odd);
    for (int n = 0; n < 8; ++n) {
        Halves pairs = Halves(exponents[0]) + Halves(t.b_exp[4 * n] + Words{});
#pragma GCC unroll 8
        for (int p = 1; p < K / 2; ++p) {
            const Halves e = Halves(exponents[p]) + Halves(t.b_exp[4 * n + p % 4 + 32 * (p / 4)] + Words{});
            pairs = e > pairs ? e : pairs;
        }
        const Words c = load(&t.c[n][first]);
        Ints c_exp, c_units;
        split_c<OUT>(c, c_exp, c_units);
        const Ints both = Ints(pairs), product_top = larger(Ints(Words(both) << 16) >> 16, both >> 16) - 2 * BIAS;
        const Ints top = larger(product_top, c_exp), held = larger(top, LEAST_TOP + Ints{});
        const Floats scale = Floats(Words(127 + FRACTION - held) << 23);
        Words terms = {};
#pragma GCC unroll 8
        for (int p = 0; p < K / 2; ++p) {
            const int at = 4 * n + p % 4 + 32 * (p / 4);
            terms += Words(__builtin_convertvector(low[p] * t.b[0][at] * scale, Ints));
            terms += Words(__builtin_convertvector(high[p] * t.b[1][at] * scale, Ints));
        }
        const Ints drop = top - c_exp, c_cut = c_units >> (drop < 31 ? drop : 31 + Ints{});
        const Ints c_sign = Ints(c << (OUT == MmaOutput::f32 ? 0 : 16)) >> 31;
        const Words term = Words((c_cut ^ c_sign) - c_sign), sum = terms + term;
        // Terms are below 2^27 each, so that sixteen fit; with C they may not, and the last 128 numbers are left out.
        const Words size = Ints(sum) < 0 ? -sum : sum;
        Words wrong = (((sum ^ terms) & (sum ^ term)) | (size + 128)) >> 31;
        wrong |= Words(top > MOST_TOP) | Words((top > NO_TERM) & (top < LEAST_TOP));
        if constexpr (OUT == MmaOutput::f32) {
            const Words d = cut_to_f32(Ints(sum), held);
            // Results that are not normal must be cut elsewhere; zero is fine: it is a sum of 0.
            wrong |= Words((d & 0x7fffffff) - 1 < 0x00800000u);
            store(&t.d[n][first], d);
        } else {
            store(reinterpret_cast<uint32_t*>(&t.sum[n][first]), sum);
            store(reinterpret_cast<uint32_t*>(&t.top[n][first]), Words(held));
        }
        store(&t.redo[n][first], wrong);
        redo |= wrong;
    }
    return any_of(redo);
}

TILE_INLINE uint32_t bits_of(float f) { return __builtin_bit_cast(uint32_t, f); }

// Rounds a double to f16 (nearest even) by adding a number whose last bit weighs as much as the last bit of the result.
TILE_INLINE uint32_t round_to_f16(double v) {
    const uint64_t bits = __builtin_bit_cast(uint64_t, v);
    const int64_t field = int64_t(bits >> 52 & 0x7ff);
    const int64_t shown = field > 1023 - 14 ? field : 1023 - 14;
    const double magic = __builtin_bit_cast(double, uint64_t(shown - 10 + 52) << 52 | 1ull << 51);
    const uint32_t u = bits_of(float((v + magic) - magic)), magnitude = u & 0x7fffffff;
    const uint32_t small = bits_of(__builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
    uint32_t h = magnitude < 0x38800000u ? small : (magnitude - 0x38000000u) >> 13;
    h = magnitude >= 0x47800000u ? 0x7c00u : h;
    return magnitude ? h | (u >> 16 & 0x8000) : 0u;
}

TILE_INLINE void round_tile(Tile& t) {
    const int32_t *sums = &t.sum[0][0], *held = &t.top[0][0];
    uint32_t* ds = &t.d[0][0];
    TILE_LANES
    for (int i = 0; i < 128; ++i) {
        const double unit = __builtin_bit_cast(double, uint64_t(int64_t(held[i] - FRACTION + 1023)) << 52);
        ds[i] = round_to_f16(double(sums[i]) * unit);
    }
}

template <MmaOutput OUT> TILE_INLINE void store_tile(const Tile& t, PlanesOut d) {
    for (int first = 0; first < 16; first += W) {
        Words v[4];
        if constexpr (OUT == MmaOutput::f32) {
            for (int side = 0; side < 2; ++side) {
                for (int q = 0; q < 4; ++q) v[q] = load(&t.d[2 * q + side][first]);
                store_rows(v, d[side], d[2 + side], first);
            }
        } else {
            for (int q = 0; q < 4; ++q) v[q] = load(&t.d[2 * q][first]) | load(&t.d[2 * q + 1][first]) << 16;
            store_rows(v, d[0], d[1], first);
        }
    }
}

template <int K, MmaInput IN, MmaOutput OUT> void tile(Planes a, Planes b, Planes c, PlanesOut d) {
    Tile t;
    uint32_t special = split_columns<K, IN>(t, b), redo = 0;
    for (int first = 0; first < 16; first += W) {
        load_c<OUT>(t, c, first);
        redo |= sum_rows<K, IN, OUT>(t, a, first, &special);
    }
    if constexpr (OUT == MmaOutput::f16) round_tile(t);
    if (__builtin_expect((special | redo) != 0, 0)) // before anything is stored: a register may be input and output
        for (int n = 0; n < 8; ++n)
            for (int i = 0; i < 16; ++i)
                if (special || t.redo[n][i]) t.d[n][i] = mma_exact(a, b, c, K, IN, OUT, 4 * (i % 4) + i / 4, n);
    store_tile<OUT>(t, d);
}

} // namespace

void sum_products(MmaSum& m); // mma_sum.cpp

using enum MmaInput;
constexpr MmaOutput F32_OUT = MmaOutput::f32, F16_OUT = MmaOutput::f16;
const TileFunctions tile_functions = {tile<16, bf16, F32_OUT>,
                                      tile<16, f16, F32_OUT>,
                                      tile<16, f16, F16_OUT>,
                                      tile<8, bf16, F32_OUT>,
                                      tile<8, f16, F32_OUT>,
                                      tile<8, f16, F16_OUT>,
                                      sum_products};

} // namespace emu::num::EMU_LEVEL

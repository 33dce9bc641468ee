// SPDX-License-Identifier: Apache-2.0
// The tensor-core sum of a whole tile, in vectors of rows: the model of mma.h for everyday values. Called through the
// tables of mma_tile.h; outputs that it may not compute (infinities, NaN, results or sums out of range) it gives to
// mma_exact.
#include "mma_tile.h"

#include "mma_column.h"

namespace emu::num::EMU_LEVEL {
namespace {

// Of rows and columns whose sums are near no bound, and whose last place kept is at most 1: no C vanishes beside it.
constexpr int LEAST_EVERYDAY = -100, MOST_EVERYDAY = FRACTION;

struct Tile {
    alignas(64) uint32_t c[8][16], d[8][16];
    alignas(64) int32_t top[8][16]; // the largest exponent of each output's terms
    alignas(64) int32_t sum[8][16]; // for f16 only
    alignas(64) uint32_t redo[8][16];
    // Of W rows, a bit for each column: those that sum_uncut() leaves; those whose sums are of the same terms as their
    // neighbour's to the left.
    unsigned left[16 / W], alike[16 / W];
};

template <bool ALL, class F> TILE_INLINE void each_column(unsigned columns, F f) {
    for (int n = 0; n < 8; ++n)
        if (ALL || columns >> n & 1) f(n);
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

// W rows of A.
template <int K> struct Rows {
    Floats value[K];
    Ints top;
    TILE_INLINE Rows(const Left& a, int first) {
        for (int k = 0; k < K; ++k) value[k] = load(&a.value[k % 2][k / 2][first]);
        top = load(&a.top[first]);
    }
};
constexpr int place(int n, int p) { return 4 * n + p % 4 + 32 * (p / 4); } // of word p of column n
TILE_INLINE auto column_of(const Right& b, int n) {
    return [&b, n](int k) { return b.value[k % 2][place(n, k / 2)]; };
}

// The largest exponent of the products of column n, or less than NO_TERM; `tops`: of its row's and column's largest.
TILE_INLINE Ints top_of_products(const Left& a, const Right& b, int first, int n, const Ints& tops) {
    const auto below = [&](int t) { return Bytes(load(&a.below[t][first])) + Bytes(b.below[4 * n + t] + Words{}); };
    Words least = Words(smaller(smaller(below(0), below(1)), smaller(below(2), below(3))));
    least = Words(smaller(Bytes(least), Bytes(least << 16)));
    const Ints drop = Ints(Words(smaller(Bytes(least), Bytes(least << 8))) >> 24);
    return tops - (drop >= ABSENT ? Ints{} - ZERO_EXPONENT : drop);
}
// The same for fragments whose exponents lie far apart.
template <int K, int BIAS> TILE_INLINE Ints top_of_far_products(const Left& a, const Right& b, int first, int n) {
    Halves most = int16_t(2 * ZERO_EXPONENT) + Halves{};
    for (int p = 0; p < K / 2; ++p) {
        const Words left = load(&a.exponents[p][first]), right = b.exponents[place(n, p)] + Words{};
        most = larger(most, Halves(Halves(left) + Halves(right)));
    }
    return larger_of_pairs(most) - 2 * BIAS;
}

// The sum of the products of column n that need no cut, where an f32 holds it.
template <int K> TILE_INLINE Floats sum_whole(const Rows<K>& a, const Right& b, int n) {
    Floats sum[2] = {};
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) sum[k % 2] += a.value[k] * column_of(b, n)(k);
    return sum[0] + sum[1];
}

// x + y cut to f32. x is not -0.
TILE_INLINE Floats add_cut(const Floats& x, const Floats& y) {
#if TILE_WIDTH == 16
    return Floats(_mm512_maskz_add_round_ps(0xffff, __m512(x), __m512(y), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#else
    const Floats sum = x + y, of_y = sum - x, error = (x - (sum - of_y)) + (y - of_y); // exact: the sum is nearest
    const Words away = Words((error < 0) & (sum > 0)) | Words((error > 0) & (sum < 0));
    return Floats(Words(sum) + away); // all bits: one less
#endif
}

template <int K, MmaInput IN, MmaOutput OUT>
TILE_INLINE void find_tops(Tile& t, const Left& left, const Rows<K>& a, const Right& b, int first, Bounds& bounds) {
    constexpr int BIAS = IN == MmaInput::bf16 ? 127 : 15;
    const bool near = left.is_near() && b.is_near();
    for (int n = 0; n < 8; ++n) {
        if (!(t.left[first / W] >> n & 1)) continue;
        const Ints tops = a.top + (b.top[4 * n] - 2 * BIAS);
        const Ints product_top =
            near ? top_of_products(left, b, first, n, tops) : top_of_far_products<K, BIAS>(left, b, first, n);
        Ints c_exponent;
        Floats c;
        split_c<OUT>(load(&t.c[n][first]), c_exponent, c);
        const Ints top = larger(product_top, c_exponent);
        store(&t.top[n][first], top);
        bounds.above = larger(bounds.above, top - tops);
        bounds.add_top(top);
    }
}

template <int K, bool WHOLE, MmaOutput OUT>
TILE_INLINE void sum_columns(Tile& t, const Rows<K>& a, const Right& b, int first, Bounds& bounds) {
    for (int n = 0; n < 8; ++n) {
        if (!(t.left[first / W] >> n & 1)) continue;
        Ints exponent;
        Floats c;
        split_c<OUT>(load(&t.c[n][first]), exponent, c);
        const Floats scale = scale_of(load(&t.top[n][first]));
        const Ints terms = WHOLE ? __builtin_convertvector(sum_whole<K>(a, b, n) * scale, Ints)
                                 : sum_cut<K>(a.value, column_of(b, n), scale);
        // Wraps where it will be marked as out of bounds.
        const Ints sum = Ints(Words(terms) + Words(__builtin_convertvector(c * scale, Ints)));
        bounds.size = larger(bounds.size, size_of(terms));
        if constexpr (OUT == MmaOutput::f32) store(&t.d[n][first], cut_to_f32(sum, unit_of(scale)));
        else store(&t.sum[n][first], sum);
    }
}

// Which outputs are out of bounds.
template <int K> void mark(Tile& t, const Left& left, const Right& b, int first) {
    const Rows<K> a(left, first);
    for (int n = 0; n < 8; ++n) {
        if (!(t.left[first / W] >> n & 1)) {
            const bool again = t.alike[first / W] >> n & 1;
            store(&t.redo[n][first], again ? load(&t.redo[n - 1][first]) : Words{});
            continue;
        }
        const Ints top = load(&t.top[n][first]);
        const Words size = size_of(sum_cut<K>(a.value, column_of(b, n), scale_of(top)));
        store(&t.redo[n][first],
              Words(size > MOST_TERMS) | Words(top > MOST_TOP) | Words((top > NO_TERM) & (top < LEAST_TOP)));
    }
}

// Where neither a product nor C is cut, whatever the largest exponent is, it need not be known: the sum is the exact
// one of an f32 and C. Of products none is cut if the spread is small and C not too far above them; C is not if it is a
// whole number of what the last place kept is worth beside the largest product that there can be, the top of its row
// and column: beside lesser ones, or if C itself is the largest, no more is cut. Gives a bit for each column left out.
template <int K, bool ALL>
TILE_INLINE unsigned sum_uncut(Tile& t, unsigned columns, const Rows<K>& a, const Left& left, const Right& b, int first,
                               int most_above) {
    const Words rows = load(&left.unit[first]) + ((3u * 127 + FRACTION) << 23);
    const Ints beyond = ((127 + FRACTION + 1 + most_above) << 23) + Ints{};
    Words fractions = {}, most = {};
    const auto places = [&](int n) { return Floats(load(&t.c[n][first])) * Floats(rows + b.unit[4 * n]); };
    each_column<ALL>(columns, [&](int n) {
        const Floats c = places(n);
        fractions |= fraction_of(c);
        most = larger_magnitude(most, c);
        store(&t.d[n][first], add_cut(sum_whole<K>(a, b, n), Floats(load(&t.c[n][first]))));
    });
    unsigned left_out = 0;
    if (any_of(fractions | Words(Ints(most) >= beyond)))
        each_column<ALL>(columns, [&](int n) {
            const Words far = Words(Ints(larger_magnitude(Words{}, places(n))) >= beyond);
            left_out |= unsigned(any_of(fraction_of(places(n)) | far)) << n;
        });
    return left_out;
}

// Of W rows: which columns of B are the same as their neighbours, and those of C too?
TILE_INLINE unsigned alike_columns(const Tile& t, const Right& b, int first) {
    unsigned alike = 0;
    for (unsigned rest = b.alike; rest; rest &= rest - 1) {
        const int n = __builtin_ctz(rest);
        alike |= unsigned(!any_of(load(&t.c[n][first]) ^ load(&t.c[n - 1][first]))) << n;
    }
    return alike;
}
void repeat_alike(Tile& t) {
    for (int first = 0; first < 16; first += W)
        for (unsigned rest = t.alike[first / W]; rest; rest &= rest - 1) {
            const int n = __builtin_ctz(rest);
            store(&t.d[n][first], load(&t.d[n - 1][first]));
        }
}

// W rows of all columns. False if some output is out of bounds.
template <int K, MmaInput IN, MmaOutput OUT> TILE_INLINE bool sum_rows(Tile& t, Left& left, Right& b, int first) {
    // Products are multiples of 2^-POINT of their own power of two, K of them below 4 K: an f32 has 24 bits.
    constexpr int BIAS = IN == MmaInput::bf16 ? 127 : 15, POINT = IN == MmaInput::bf16 ? 14 : 20;
    constexpr int MOST_SPREAD = 24 - POINT - 2 - (K == 16 ? 4 : 3);
    const Rows<K> a(left, first);
    const int spread = left.spread + b.spread;
    const unsigned alike = OUT == MmaOutput::f32 && b.alike ? alike_columns(t, b, first) : 0, columns = 0xff & ~alike;
    t.alike[first / W] = alike;
    t.left[first / W] = columns;
    if constexpr (OUT == MmaOutput::f32 && MOST_SPREAD >= 0) {
        const int least = left.least_top + b.least_top - 2 * BIAS, most = left.most_top + b.most_top - 2 * BIAS;
        if (spread <= MOST_SPREAD && least >= LEAST_EVERYDAY && most <= MOST_EVERYDAY) {
            const int above = FRACTION - POINT - spread;
            t.left[first / W] = alike ? sum_uncut<K, false>(t, columns, a, left, b, first, above)
                                      : sum_uncut<K, true>(t, columns, a, left, b, first, above);
            if (!t.left[first / W]) return true;
        }
    }
    if (!left.has_below) find_below<K>(left);
    if (!b.has_below) find_below<K>(b);
    Bounds bounds;
    find_tops<K, IN, OUT>(t, left, a, b, first, bounds);
    const Words cut = Words(bounds.above > FRACTION - POINT - spread), huge = Words(bounds.most > MOST_TOP - 6);
    if (spread <= MOST_SPREAD && !any_of(cut | huge)) // sixteen products are below 2^6 * 2^top
        sum_columns<K, true, OUT>(t, a, b, first, bounds);
    else sum_columns<K, false, OUT>(t, a, b, first, bounds);
    return bounds.hold();
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
    const int32_t *sums = &t.sum[0][0], *tops = &t.top[0][0];
    uint32_t* ds = &t.d[0][0];
    TILE_LANES
    for (int i = 0; i < 128; ++i) {
        const int held = tops[i] > LEAST_TOP ? tops[i] : LEAST_TOP;
        const double unit = __builtin_bit_cast(double, uint64_t(int64_t(held - FRACTION + 1023)) << 52);
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

template <int K, MmaInput IN, MmaOutput OUT>
__attribute__((noinline)) bool sum_tile(Tile& t, Left& a, Right& b, Planes c) {
    bool hold = true;
    for (int first = 0; first < 16; first += W) {
        load_c<OUT>(t, c, first);
        hold &= sum_rows<K, IN, OUT>(t, a, b, first);
    }
    if constexpr (OUT == MmaOutput::f16) round_tile(t);
    return hold;
}

// Where all products are zeros: C, but +0 for -0. False, and nothing is stored, if some C is infinite or NaN.
TILE_INLINE bool give_c(Planes c, PlanesOut d) {
    Words given[4][32 / W], special = {};
    for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 32 / W; ++i) {
            const Words v = load(c[r] + i * W);
            special |= Words((v & 0x7f800000) == 0x7f800000);
            given[r][i] = v & Words(v != 0x80000000u);
        }
    if (any_of(special)) return false;
    for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 32 / W; ++i) store(d[r] + i * W, given[r][i]);
    return true;
}

template <int K, MmaInput IN, MmaOutput OUT> void tile(Planes a, Planes b, Planes c, PlanesOut d) {
    if constexpr (OUT == MmaOutput::f32)
        if (are_alike<K>(b, c) && sum_column<K, IN>(a, b, c, d)) return;
    Fragments<K, IN>& kept = fragments<K, IN>();
    Left& left = kept.of_a(a);
    Right& right = kept.of_b(b);
    if constexpr (OUT == MmaOutput::f32)
        if ((left.is_zero && !right.special) || (right.is_zero && !left.special))
            if (give_c(c, d)) return;
    Tile t;
    const bool hold = sum_tile<K, IN, OUT>(t, left, right, c), special = left.special || right.special;
    if (__builtin_expect(special || !hold, 0)) { // before anything is stored: a register may be input and output
        for (int first = 0; first < 16; first += W) mark<K>(t, left, right, first);
        for (int n = 0; n < 8; ++n)
            for (int i = 0; i < 16; ++i)
                if (special || t.redo[n][i]) t.d[n][i] = mma_exact(a, b, c, K, IN, OUT, 4 * (i % 4) + i / 4, n);
    }
    if constexpr (OUT == MmaOutput::f32)
        if (right.alike) repeat_alike(t);
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

// SPDX-License-Identifier: Apache-2.0
// The tensor-core sum. A vector path for everyday tiles and an exact scalar path for the rest; both compute the model
// written in mma.h. Called by the executor of mma. Knows nothing of PTX text or of lanes that are switched off.
//
// The vector path runs over the 16 rows of one column, so that A is read in rows of vectors and B is a broadcast:
//     A words [k/2][16 rows]      B words [8 columns][k/2]      C and D words [8 columns][16 rows]
// It needs every product to be exact in f32 and every cut term to fit int32:
//     |term| < 4 * 2^25 = 2^27, sixteen of them < 2^31.
#include "mma.h"

#include <bit>
#include <cstring>

#include "format.h"

namespace emu::num {
namespace {

#define SPARK_INLINE inline __attribute__((always_inline))
// The arrays of a Tile do not overlap.
#if defined(__clang__)
#define SPARK_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define SPARK_LANES _Pragma("GCC ivdep")
#endif

constexpr int FRACTION = 25;
constexpr int ZERO_EXPONENT = -4096; // of a zero: neither a zero product nor a zero C ever sets e_max
constexpr int LEAST_SCALED = -101;   // least e_max whose scale is a normal f32

struct Term {
    bool special = false; // infinite or NaN
    bool negative = false;
    uint64_t significand = 0; // times 2^(exponent - point)
    int exponent = ZERO_EXPONENT;
    int point = 0;
    Parts::Kind kind = Parts::Kind::finite;
};

Term term_of(uint64_t bits, const Format& format) {
    const Parts parts = decode(bits, format);
    Term term;
    term.kind = parts.kind;
    term.special = parts.kind != Parts::Kind::finite;
    term.negative = parts.negative;
    term.significand = parts.significand;
    term.point = format.mantissa_bits;
    if (parts.significand) term.exponent = parts.exponent + format.mantissa_bits;
    return term;
}

// significand * 2^(exponent - point) cut to a multiple of 2^(top - 25), in units of that multiple.
int64_t cut(const Term& term, int top) {
    const int shift = term.exponent - term.point - top + FRACTION;
    uint64_t magnitude = term.significand;
    if (shift >= 0) magnitude <<= shift;
    else magnitude = -shift > 63 ? 0 : magnitude >> -shift;
    return term.negative ? -int64_t(magnitude) : int64_t(magnitude);
}

Term multiply(const Term& x, const Term& y) {
    Term product;
    product.negative = x.negative != y.negative;
    product.special = x.special || y.special;
    if (product.special) {
        const bool nan = x.kind == Parts::Kind::nan || y.kind == Parts::Kind::nan || (!x.special && !x.significand) ||
                         (!y.special && !y.significand);
        product.kind = nan ? Parts::Kind::nan : Parts::Kind::infinite;
    }
    product.significand = x.significand * y.significand;
    product.exponent = product.significand ? x.exponent + y.exponent : ZERO_EXPONENT;
    product.point = x.point + y.point;
    return product;
}

uint32_t finish(int64_t sum, int top, MmaOutput output) {
    Parts parts;
    parts.negative = sum < 0;
    parts.significand = uint64_t(sum < 0 ? -sum : sum);
    parts.exponent = top - FRACTION;
    EncodeHow how;
    if (output == MmaOutput::f16) {
        const uint64_t bits = encode(parts, F16, how);
        return (bits & 0x7fff) ? uint32_t(bits) : 0;
    }
    how.round = Round::zero;
    const int lead = 63 - std::countl_zero(parts.significand | 1) + parts.exponent;
    if (lead > 127) return parts.negative ? 0xff800000u : 0x7f800000u;
    const uint64_t bits = encode(parts, F32, how);
    return (bits & 0x7fffffff) ? uint32_t(bits) : 0;
}

} // namespace

uint32_t mma_dot(const uint32_t* a, const uint32_t* b, int k, uint32_t c, MmaInput input, MmaOutput output) {
    const Format& in = input == MmaInput::bf16 ? BF16 : F16;
    const Format& out = output == MmaOutput::f32 ? F32 : F16;
    Term terms[17];
    for (int i = 0; i < k; ++i) terms[i] = multiply(term_of(a[i], in), term_of(b[i], in));
    terms[k] = term_of(c, out);
    bool nan = false, positive = false, negative = false;
    int top = terms[k].exponent;
    for (int i = 0; i <= k; ++i) {
        nan |= terms[i].kind == Parts::Kind::nan;
        if (terms[i].kind == Parts::Kind::infinite) (terms[i].negative ? negative : positive) = true;
        if (terms[i].exponent > top) top = terms[i].exponent;
    }
    if (nan || (positive && negative)) return uint32_t(out.nan);
    if (positive || negative) return uint32_t(out.infinity() | (negative ? out.sign_bit() : 0));
    int64_t sum = 0;
    for (int i = 0; i <= k; ++i) sum += cut(terms[i], top);
    return finish(sum, top, output);
}

namespace {

struct Tile {
    alignas(64) uint32_t a_word[8][16]; // [k/2][row]
    alignas(64) uint32_t b_word[8][8];  // [column][k/2]
    alignas(64) uint32_t c[8][16];      // [column][row]; f16 C widened to one value a word
    alignas(64) float a[16][16];        // [k][row]
    alignas(64) int32_t a_exp[16][16];
    alignas(64) float b[2][8][8]; // [k & 1][column][k/2]
    alignas(64) int32_t b_exp[2][8][8];
    alignas(64) uint32_t d[8][16];
};

SPARK_INLINE void load_tile(Tile& t, const uint32_t (*a)[32], const uint32_t (*b)[32], const uint32_t (*c)[32], int k,
                            MmaOutput output) {
    for (int j = 0; j < k / 4; ++j)
        for (int g = 0; g < 8; ++g)
            for (int q = 0; q < 4; ++q) t.a_word[q + 4 * (j >> 1)][g + 8 * (j & 1)] = a[j][4 * g + q];
    for (int j = 0; j < k / 8; ++j)
        for (int g = 0; g < 8; ++g)
            for (int q = 0; q < 4; ++q) t.b_word[g][q + 4 * j] = b[j][4 * g + q];
    for (int h = 0; h < 2; ++h)
        for (int g = 0; g < 8; ++g)
            for (int q = 0; q < 4; ++q) {
                uint32_t left, right;
                if (output == MmaOutput::f32) {
                    left = c[2 * h][4 * g + q], right = c[2 * h + 1][4 * g + q];
                } else {
                    left = c[h][4 * g + q] & 0xffff, right = c[h][4 * g + q] >> 16;
                }
                t.c[2 * q][g + 8 * h] = left;
                t.c[2 * q + 1][g + 8 * h] = right;
            }
}

SPARK_INLINE void store_tile(const Tile& t, uint32_t (*d)[32], MmaOutput output) {
    for (int h = 0; h < 2; ++h)
        for (int g = 0; g < 8; ++g)
            for (int q = 0; q < 4; ++q) {
                const uint32_t left = t.d[2 * q][g + 8 * h], right = t.d[2 * q + 1][g + 8 * h];
                if (output == MmaOutput::f32) {
                    d[2 * h][4 * g + q] = left;
                    d[2 * h + 1][4 * g + q] = right;
                } else {
                    d[h][4 * g + q] = left | right << 16;
                }
            }
}

// One 16-bit element: its value, its exponent, and whether the vector path may not take it.
// bf16 elements may lie in 2^-50..2^50, so that products stay normal f32 numbers; any finite f16 will do.
SPARK_INLINE uint32_t split(uint32_t h, MmaInput input, float& value, int32_t& exponent) {
    const uint32_t magnitude = h & 0x7fff;
    if (input == MmaInput::bf16) {
        const int32_t field = int32_t(magnitude >> 7);
        value = std::bit_cast<float>(h << 16);
        exponent = magnitude ? field - 127 : ZERO_EXPONENT; // a subnormal is outside
        const uint32_t outside = uint32_t(field - 77) > 100u ? 1u : 0u;
        return magnitude == 0 ? 0u : outside;
    }
    const int32_t field = int32_t(magnitude >> 10);
    const int32_t shown = field > 1 ? field : 1;
    const int32_t significand = int32_t(magnitude & 0x3ff) | (field > 0 ? 0x400 : 0);
    const int32_t sign = -int32_t(h >> 15);
    const float unit = std::bit_cast<float>(uint32_t(shown - 15 - 10 + 127) << 23);
    value = float((significand ^ sign) - sign) * unit;
    exponent = magnitude ? shown - 15 : ZERO_EXPONENT;
    return field == 31 ? 1u : 0u;
}

SPARK_INLINE bool split_tile(Tile& t, int k, MmaInput input, MmaOutput output) {
    uint32_t odd = 0;
    for (int p = 0; p < k / 2; ++p)
        for (int i = 0; i < 16; ++i) {
            const uint32_t w = t.a_word[p][i];
            odd |= split(w & 0xffff, input, t.a[2 * p][i], t.a_exp[2 * p][i]);
            odd |= split(w >> 16, input, t.a[2 * p + 1][i], t.a_exp[2 * p + 1][i]);
        }
    const uint32_t* words = &t.b_word[0][0];
    for (int i = 0; i < 64; ++i) {
        const uint32_t w = words[i];
        odd |= split(w & 0xffff, input, (&t.b[0][0][0])[i], (&t.b_exp[0][0][0])[i]);
        odd |= split(w >> 16, input, (&t.b[1][0][0])[i], (&t.b_exp[1][0][0])[i]);
    }
    const uint32_t infinite = output == MmaOutput::f32 ? 0x7f800000u : 0x7c00u;
    const uint32_t* c = &t.c[0][0];
    for (int i = 0; i < 128; ++i) odd |= (c[i] & infinite) == infinite ? 1u : 0u;
    return odd != 0;
}

// Cuts a double to f32 precision. A result below 2^-126 is left to the caller (it must be cut at 2^-149).
SPARK_INLINE uint32_t cut_to_f32(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v) & ~((1ull << 29) - 1);
    return std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
}

// Rounds a double to f16 (nearest even) by adding a number whose last bit weighs as much as the last bit of the result.
SPARK_INLINE uint32_t round_to_f16(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v);
    const int64_t field = int64_t(bits >> 52 & 0x7ff);
    const int64_t shown = field > 1023 - 14 ? field : 1023 - 14;
    const double magic = std::bit_cast<double>(uint64_t(shown - 10 + 52) << 52 | 1ull << 51);
    const float r = float((v + magic) - magic);
    const uint32_t u = std::bit_cast<uint32_t>(r), magnitude = u & 0x7fffffff;
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t h = magnitude < 0x38800000u ? small : (magnitude - 0x38000000u) >> 13;
    h = magnitude >= 0x47800000u ? 0x7c00u : h;
    return magnitude ? h | (u >> 16 & 0x8000) : 0u;
}

// One column of 16 outputs. Returns non-zero if some output must be redone by mma_dot.
template <int K, MmaOutput OUT> SPARK_INLINE uint32_t column(Tile& t, int n) {
    uint32_t odd = 0;
    SPARK_LANES
    for (int i = 0; i < 16; ++i) {
        const uint32_t c = t.c[n][i];
        int32_t c_exp, c_units;
        if constexpr (OUT == MmaOutput::f32) {
            const int32_t field = int32_t(c >> 23 & 0xff);
            const int32_t magnitude = int32_t(c & 0x7fffffff);
            c_exp = magnitude > 0 ? (field > 1 ? field : 1) - 127 : ZERO_EXPONENT;
            c_units = int32_t(((c & 0x7fffff) | (field > 0 ? 0x800000u : 0u)) << 2);
        } else {
            const int32_t field = int32_t(c >> 10 & 0x1f);
            c_exp = (c & 0x7fff) ? (field > 1 ? field : 1) - 15 : ZERO_EXPONENT;
            c_units = int32_t(((c & 0x3ff) | (field > 0 ? 0x400u : 0u)) << 15);
        }
        int32_t top = c_exp;
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) {
            const int32_t e = t.a_exp[k][i] + t.b_exp[k & 1][n][k >> 1];
            top = e > top ? e : top;
        }
        // Where all terms are tiny, mma_dot redoes the tile; where all are zero, any scale will do.
        uint32_t redo = uint32_t(top - ZERO_EXPONENT / 2) < uint32_t(LEAST_SCALED - ZERO_EXPONENT / 2) ? 1u : 0u;
        const int32_t held = top > LEAST_SCALED ? top : LEAST_SCALED;
        const float scale = std::bit_cast<float>(uint32_t(127 + FRACTION - held) << 23);
        int32_t sum = 0;
#pragma GCC unroll 16
        for (int k = 0; k < K; ++k) sum += int32_t(t.a[k][i] * t.b[k & 1][n][k >> 1] * scale);
        int32_t drop = top - c_exp;
        drop = drop < 31 ? drop : 31;
        const int32_t c_cut = c_units >> drop;
        const int32_t c_sign = OUT == MmaOutput::f32 ? int32_t(c) >> 31 : int32_t(c << 16) >> 31;
        const double total = double(sum) + double((c_cut ^ c_sign) - c_sign);
        const double v = total * std::bit_cast<double>(uint64_t(int64_t(held - FRACTION + 1023)) << 52);
        if constexpr (OUT == MmaOutput::f32) {
            const uint32_t bits = cut_to_f32(v);
            redo |= (bits & 0x7fffffff) - 1 < 0x00800000u ? 1u : 0u; // zero is fine: such a total is 0
            t.d[n][i] = bits & 0x7fffffff ? bits : 0;
        } else {
            t.d[n][i] = round_to_f16(v);
        }
        odd |= redo; // once: GCC does not vectorise a reduction with two updates
    }
    return odd;
}

void exact_tile(Tile& t, int k, MmaInput input, MmaOutput output) {
    for (int n = 0; n < 8; ++n)
        for (int i = 0; i < 16; ++i) {
            uint32_t a[16], b[16];
            for (int p = 0; p < k / 2; ++p) {
                a[2 * p] = t.a_word[p][i] & 0xffff, a[2 * p + 1] = t.a_word[p][i] >> 16;
                b[2 * p] = t.b_word[n][p] & 0xffff, b[2 * p + 1] = t.b_word[n][p] >> 16;
            }
            t.d[n][i] = mma_dot(a, b, k, t.c[n][i], input, output);
        }
}

template <int K, MmaInput IN, MmaOutput OUT>
SPARK_INLINE void whole(const uint32_t (*a)[32], const uint32_t (*b)[32], const uint32_t (*c)[32], uint32_t (*d)[32]) {
    Tile t;
    if (K == 8) std::memset(t.b_word, 0, sizeof t.b_word);
    load_tile(t, a, b, c, K, OUT);
    uint32_t odd = split_tile(t, K, IN, OUT);
    if (!odd)
        for (int n = 0; n < 8; ++n) odd |= column<K, OUT>(t, n);
    if (odd) exact_tile(t, K, IN, OUT);
    store_tile(t, d, OUT);
}

using TileFunction = void (*)(const uint32_t (*)[32], const uint32_t (*)[32], const uint32_t (*)[32], uint32_t (*)[32]);
struct Family {
    TileFunction bf16_k16, f16_k16, f16_f16_k16, bf16_k8, f16_k8, f16_f16_k8;
};

#define SPARK_MMA_FAMILY(name, attribute)                                                                \
    template <int K, MmaInput IN, MmaOutput OUT>                                                         \
    attribute void name##_tile(const uint32_t(*a)[32], const uint32_t(*b)[32], const uint32_t(*c)[32],   \
                               uint32_t(*d)[32]) {                                                       \
        whole<K, IN, OUT>(a, b, c, d);                                                                   \
    }                                                                                                    \
    constexpr Family name##_family{                                                                      \
        name##_tile<16, MmaInput::bf16, MmaOutput::f32>, name##_tile<16, MmaInput::f16, MmaOutput::f32>, \
        name##_tile<16, MmaInput::f16, MmaOutput::f16>,  name##_tile<8, MmaInput::bf16, MmaOutput::f32>, \
        name##_tile<8, MmaInput::f16, MmaOutput::f32>,   name##_tile<8, MmaInput::f16, MmaOutput::f16>};

SPARK_MMA_FAMILY(base, )
#if defined(__x86_64__)
SPARK_MMA_FAMILY(avx2, __attribute__((target("avx2"))))
#if defined(__clang__)
SPARK_MMA_FAMILY(avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))))
#else
SPARK_MMA_FAMILY(avx512, __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,prefer-vector-width=512"))))
#endif
#endif

const Family& pick_family() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return avx512_family;
    if (__builtin_cpu_supports("avx2")) return avx2_family;
#endif
    return base_family;
}

} // namespace

void mma_m16n8(const uint32_t (*a)[32], const uint32_t (*b)[32], const uint32_t (*c)[32], uint32_t (*d)[32], int k,
               MmaInput input, MmaOutput output) {
    static const Family& family = pick_family();
    const bool bf16 = input == MmaInput::bf16, wide = output == MmaOutput::f32;
    if (k == 16) (bf16 ? family.bf16_k16 : wide ? family.f16_k16 : family.f16_f16_k16)(a, b, c, d);
    else (bf16 ? family.bf16_k8 : wide ? family.f16_k8 : family.f16_f16_k8)(a, b, c, d);
}

} // namespace emu::num

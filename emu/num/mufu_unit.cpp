// SPDX-License-Identifier: Apache-2.0
// The special function unit as an H200 has it, bit for bit, 32 lanes at a time: a segment of a table is chosen by the
// first bits of the argument, c0 + c1 low + c2 square(low) is summed exactly and cut to a float; in words of 32 bits
// where they hold what is needed of it. Negative fixed-point numbers are one's complements. Subnormal arguments and
// results are zeros. Compiled once for each instruction-set level; tests/emu/num compares each with what the card gave
// for all 2^32 arguments.
#include "mma_vectors.h"
#include "mufu.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace emu::num::EMU_LEVEL {
namespace {

template <class To, class From> TILE_INLINE To bits_as(From v) {
    static_assert(sizeof(To) == sizeof(From));
    To r;
    std::memcpy(&r, &v, sizeof r);
    return r;
}

constexpr uint32_t MUFU_NAN = 0x7fffffff, MUFU_INF = 0x7f800000, MUFU_SIGN = 0x80000000, MUFU_LOW = 0x1ffff;

TILE_INLINE uint32_t mufu_cut(double d) { // to a float, toward zero; not for what is subnormal there
    return bits_as<uint32_t>(float(bits_as<double>(bits_as<uint64_t>(d) & ~0x1fffffffull)));
}

TILE_INLINE float cut_of(uint32_t v) { // of 31 bits: less than half of a last place is left to round
    return float(int32_t(v & ~(v >> 24)));
}

// A sum in words.
struct MufuSum {
    uint32_t value;       // in the last place of the result, cut
    uint32_t whole, rest; // the same with what was cut: but for the last 9 bits, and those
};

struct MufuWordsOf { // W lanes
    Words c0, c1_c2;
};

// Where the table is entered, and what the end needs besides the argument.
struct MufuPlace {
    uint32_t segment, low, turn;
};

struct MufuRcp {
    static constexpr const auto& TABLE = mufu_rcp;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE MufuPlace place(uint32_t x) { return {x >> 16 & 127, (x & 0xffff) << 1, 0}; }
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const int32_t r = int32_t(sum.value + ((252 - exponent) << 23));
        const uint32_t finite = r < 0x00800000 ? 0 : uint32_t(r);
        const uint32_t nan = x & 0x7fffff ? MUFU_NAN : sign;
        return exponent == 255 ? nan : exponent == 0 ? sign | MUFU_INF : sign | finite;
    }
};
struct MufuRsqrt {
    static constexpr const auto& TABLE = mufu_rsqrt;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE MufuPlace place(uint32_t x) { // an even power of two has an odd exponent field
        return {(x >> 17 & 63) | (x >> 23 & 1 ? 0 : 64), x & MUFU_LOW, 0};
    }
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t v = (x & 0xffffff) == 0x800000 ? 1u << 24 : sum.value; // the sum would be one place less
        const uint32_t finite = v + ((189 - (exponent + 1) / 2) << 23);
        const uint32_t top = x == MUFU_INF ? 0 : MUFU_NAN;
        return exponent == 0 ? sign | MUFU_INF : exponent == 255 || sign ? top : finite;
    }
};
struct MufuSqrt {
    static constexpr const auto& TABLE = mufu_sqrt;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE MufuPlace place(uint32_t x) { return MufuRsqrt::place(x); }
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t finite = sum.value + (((exponent + 1) / 2 + 62) << 23);
        const uint32_t top = x == MUFU_INF ? MUFU_INF : MUFU_NAN;
        return exponent == 0 ? sign : exponent == 255 || sign ? top : finite;
    }
};
struct MufuEx2 {
    static constexpr const auto& TABLE = mufu_ex2;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE int32_t
    fixed(uint32_t x) { // 23 bits of fraction, cut; what lies beyond gives 0 or infinity anyway
        const uint32_t size = x & ~MUFU_SIGN, most = bits_as<uint32_t>(255.99998f); // as words: NaNs are above it
        const int32_t v = int32_t(bits_as<float>(size < most ? size : most) * 0x1p23f);
        const int32_t negative = ~v + int32_t((v & 0x7fffff) == 0);
        return x & MUFU_SIGN ? negative : v;
    }
    static TILE_INLINE MufuPlace place(uint32_t x) {
        const uint32_t v = uint32_t(fixed(x));
        return {v >> 17 & 63, v & MUFU_LOW, v};
    }
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t turn) {
        const uint32_t up = turn + (126u << 23), finite = sum.value + (up & 0xff800000); // in both a power of two
        const uint32_t r = up < 254u << 23 ? finite : MUFU_INF & ~uint32_t(int32_t(turn) >> 31);
        return (x & ~MUFU_SIGN) > MUFU_INF ? MUFU_NAN : r;
    }
};
// As programs put around it where subnormal results are wanted: below -126 halved, the result squared.
struct MufuEx2Full : MufuEx2 {
    static TILE_INLINE bool deep(uint32_t x) { return bits_as<float>(x) < -126; }
    static TILE_INLINE uint32_t before(uint32_t x) { return deep(x) ? bits_as<uint32_t>(bits_as<float>(x) * 0.5f) : x; }
    static TILE_INLINE MufuPlace place(uint32_t x) { return MufuEx2::place(before(x)); }
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t turn) {
        const uint32_t r = MufuEx2::end(sum, before(x), turn);
        return deep(x) ? bits_as<uint32_t>(bits_as<float>(r) * bits_as<float>(r)) : r;
    }
};
struct MufuLg2 {
    static constexpr const auto& TABLE = mufu_lg2;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE MufuPlace place(uint32_t x) { return {x >> 17 & 63, x & MUFU_LOW, 0}; }
    // 38 bits below the point, of which 36 are kept: those behind the power, complements with a negative one. As many
    // of them all as fit into 31.
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t) {
        const int32_t power = int32_t(x >> 23 & 255) - 127;
        const uint32_t turn = uint32_t(power >> 31), above = uint32_t(power) ^ turn; // turn: all bits, or none
        const uint32_t whole = (sum.whole ^ turn) & 0x1fffffff, rest = (sum.rest ^ turn) & 511;
        // As masks: compilers would jump around what they see is not needed.
        const uint32_t small = uint32_t(int32_t(whole - (1 << 22)) >> 31), far = uint32_t(int32_t(0 - above) >> 31);
        const uint32_t near = (small & (whole << 7 | rest >> 2)) | (~small & (whole << 2 | rest >> 7));
        const uint32_t v = (far & (above << 24 | whole >> 5)) | (~far & near);
        const uint32_t places = (far & 24) | (~far & (31 + (small & 5)));
        const uint32_t cut = bits_as<uint32_t>(cut_of(v) * bits_as<float>((127 - places) << 23)) | (turn & MUFU_SIGN);
        const uint32_t finite = cut & (0u - uint32_t(x != 0x3f800000));
        const uint32_t top = x == MUFU_INF ? MUFU_INF : MUFU_NAN;
        const bool zero = !(x & MUFU_INF);
        return zero ? MUFU_SIGN | MUFU_INF : x >= MUFU_INF ? top : finite;
    }
};
// Of x = turns of the circle, that is the product with 1 / 2 pi, cut, that a program makes first.
template <unsigned QUARTER> struct MufuTurn {
    static constexpr const auto& TABLE = mufu_sin;
    static constexpr bool IN_WORDS = true;
    static TILE_INLINE uint32_t turns(uint32_t x) { // without its sign
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
        const float size = bits_as<float>(x & ~MUFU_SIGN), nearest = size * 0x1.45f306p-3f;
        return bits_as<uint32_t>(nearest) - (bits_as<uint32_t>(__builtin_fmaf(size, 0x1.45f306p-3f, -nearest)) >> 31);
#else
        return mufu_cut(double(bits_as<float>(x & ~MUFU_SIGN)) * 0x1.45f306p-3);
#endif
    }
    static TILE_INLINE MufuPlace place(uint32_t x) {
        const uint32_t t = turns(x), significand = (t & 0x7fffff) | 1 << 23;
        const int32_t shift = int32_t(t >> 23 & 255) - 125; // to 25 bits of fraction
        const uint32_t up = significand << (shift & 31), down = significand >> (-shift & 31);
        const uint32_t v = shift > 24 || shift < -24 ? 0 : shift < 0 ? down : up, quarter = (v >> 23) + QUARTER;
        const uint32_t within = (quarter & 1 ? ~v : v) & 0x7fffff;
        return {within >> 17, within & MUFU_LOW, quarter};
    }
    // 37 bits below the point; of those that matter 31 hold more than 24.
    static TILE_INLINE uint32_t end(const MufuSum& sum, uint32_t x, uint32_t quarter) {
        const bool small = sum.whole < 1 << 22;
        const uint32_t v = small ? sum.whole << 9 | sum.rest : sum.whole << 2 | sum.rest >> 7;
        const uint32_t r = bits_as<uint32_t>(cut_of(v) * (small ? 0x1p-37f : 0x1p-30f));
        const uint32_t sign = (quarter & 2) << 30 ^ (QUARTER ? 0 : x & MUFU_SIGN);
        return (x & MUFU_INF) == MUFU_INF ? MUFU_NAN : r | sign;
    }
};
using MufuSin = MufuTurn<0>;
using MufuCos = MufuTurn<1>;
struct MufuTanh {
    static constexpr const auto& TABLE = mufu_tanh;
    static constexpr bool IN_WORDS = false;
    static constexpr uint32_t LEAST = 119,
                              PAST = 130; // exponent fields: below, the argument is the result; 1 from there
    static TILE_INLINE MufuPlace place(uint32_t x) {
        const uint32_t exponent = x >> 23 & 255;
        const uint32_t binade = exponent < LEAST ? 0 : exponent >= PAST ? PAST - 1 - LEAST : exponent - LEAST;
        const uint32_t bits = MUFU_TANH_BITS[binade], significand = x & 0x7fffff;
        return {MUFU_TANH_FIRST[binade] + (significand >> (23 - bits)), significand >> (6 - bits) & MUFU_LOW, 0};
    }
    static TILE_INLINE uint32_t end(double sum, uint32_t x) {
        const uint32_t exponent = x >> 23 & 255, sign = x & MUFU_SIGN;
        const uint32_t r = exponent >= PAST ? 0x3f800000 | sign : exponent < LEAST ? x : mufu_cut(sum) | sign;
        return (x & ~MUFU_SIGN) > MUFU_INF ? MUFU_NAN : r;
    }
};

// Halves of words: the upper 16 bits of products, and the sum of two products with signs.
TILE_INLINE Words multiply_high(const Words& x, const Words& y) {
#if TILE_WIDTH == 16
    return Words(_mm512_mulhi_epu16(__m512i(x), __m512i(y)));
#elif TILE_WIDTH == 8
    return Words(_mm256_mulhi_epu16(__m256i(x), __m256i(y)));
#elif defined(__SSE2__)
    return Words(_mm_mulhi_epu16(__m128i(x), __m128i(y)));
#else
    return ((x >> 16) * (y >> 16) & 0xffff0000) | (x & 0xffff) * (y & 0xffff) >> 16;
#endif
}
TILE_INLINE Words multiply_add(const Words& x, const Words& y) {
#if TILE_WIDTH == 16
    return Words(_mm512_madd_epi16(__m512i(x), __m512i(y)));
#elif TILE_WIDTH == 8
    return Words(_mm256_madd_epi16(__m256i(x), __m256i(y)));
#elif defined(__SSE2__)
    return Words(_mm_madd_epi16(__m128i(x), __m128i(y)));
#else
    return Words((Ints(x) >> 16) * (Ints(y) >> 16) + (Ints(x << 16) >> 16) * (Ints(y << 16) >> 16));
#endif
}

// low^2 / 2^19 of 17 bits, but without the products of two bits that stand for less than 1: of its first 8 bits and its
// last 9 each bit of the first is one product, cut. Two in a word, the eighth is the square of the first, halved. The
// last 9 bits stand above the result.
TILE_INLINE Words mufu_square(const Words& low) {
    Words high = (low >> 2) & 0x7f80, rest = low & 511; // high: times 2^7
    high |= high << 16, rest |= rest << 16;
    const Words square = (rest & 0xffff) | ((high << 1) & 0xffff0000);
    Words sum = multiply_high(high & 0x20004000, rest) + multiply_high(high & 0x08001000, rest);
    sum += multiply_high(high & 0x02000400, rest) + multiply_high(high & 0xffff0100, square);
    return ((sum + (sum >> 16)) & 0xffff) | (rest & 0xffff0000);
}

// Segments of W lanes, as vectors. Those of a table that does not fit into registers come as a whole.
#if TILE_WIDTH == 16
template <size_t N> TILE_INLINE Words mufu_choose(const uint32_t* from, const Words& place) {
    const __m512i at = __m512i(place); // its last five bits choose in a pair of vectors
    __m512i found[N / 32];
    for (size_t i = 0; i < N / 32; i++)
        found[i] =
            _mm512_permutex2var_epi32(_mm512_load_si512(from + 32 * i), at, _mm512_load_si512(from + 32 * i + 16));
    const __mmask16 odd = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    for (size_t i = 0; i < N / 64; i++) found[i] = _mm512_mask_mov_epi32(found[2 * i], odd, found[2 * i + 1]);
    if constexpr (N == 64) return Words(found[0]);
    else return Words(_mm512_mask_mov_epi32(found[0], _mm512_test_epi32_mask(at, _mm512_set1_epi32(64)), found[1]));
}
template <size_t N> TILE_INLINE MufuWordsOf mufu_fetch(const MufuTable<N>& table, const uint32_t* segment) {
    const Words place = load(segment);
    return {mufu_choose<N>(table.c0, place), mufu_choose<N>(table.c1_c2, place)};
}
#else
typedef uint64_t Two __attribute__((vector_size(16)));
template <size_t N> TILE_INLINE Two mufu_two(const MufuTable<N>& table, const uint32_t* segment) {
    uint64_t first, second;
    std::memcpy(&first, table.segments + segment[0], 8);
    std::memcpy(&second, table.segments + segment[1], 8);
    return Two{first, second};
}
// Two lanes in a vector of four words, or in each half.
template <size_t N> TILE_INLINE Words mufu_pair(const MufuTable<N>& table, const uint32_t* segment) {
#if TILE_WIDTH == 8
    const Two near = mufu_two(table, segment), far = mufu_two(table, segment + 4);
    return Words(__builtin_shufflevector(near, far, 0, 1, 2, 3));
#else
    return Words(mufu_two(table, segment));
#endif
}
template <size_t N> TILE_INLINE MufuWordsOf mufu_fetch(const MufuTable<N>& table, const uint32_t* segment) {
    const Words first = mufu_pair(table, segment), second = mufu_pair(table, segment + 2);
    return {TILE_SHUFFLE(first, second, 0, 2, W, W + 2), TILE_SHUFFLE(first, second, 1, 3, W + 1, W + 3)};
}
#endif

// y[l] = the function of x[l], as bits of floats.
template <class F> TILE_INLINE void mufu_in_words(const uint32_t* x, uint32_t* y) {
    alignas(64) uint32_t segment[32], low[32], turn[32], value[32], whole[32], rest[32];
    TILE_LANES
    for (int l = 0; l < 32; l++) {
        const MufuPlace place = F::place(x[l]);
        segment[l] = place.segment, low[l] = place.low, turn[l] = place.turn;
    }
#pragma GCC unroll 8
    for (int l = 0; l < 32; l += W) {
        const MufuWordsOf s = mufu_fetch(F::TABLE, segment + l);
        const Words at = load(low + l);
        const Ints below = Ints(multiply_add(s.c1_c2, mufu_square(at))) + F::TABLE.bias;
        const Words sum =
            s.c0 + at * uint32_t(F::TABLE.more / 512) + multiply_add(s.c1_c2, at << 7 & 0xff0000) + Words(below >> 9);
        store(value + l, sum >> (F::TABLE.places - 9)), store(whole + l, sum), store(rest + l, below & 511);
    }
    TILE_LANES
    for (int l = 0; l < 32; l++) y[l] = F::end({value[l], whole[l], rest[l]}, x[l], turn[l]);
}
template <class F> TILE_INLINE void mufu_in_doubles(const uint32_t* x, uint32_t* y) {
    alignas(64) uint32_t segment[32], low[32], square[32];
    alignas(64) double sum[32];
    TILE_LANES
    for (int l = 0; l < 32; l++) {
        const MufuPlace place = F::place(x[l]);
        segment[l] = place.segment, low[l] = place.low;
    }
    for (int l = 0; l < 32; l += W) store(square + l, mufu_square(load(low + l)) & 0xffff);
    TILE_LANES
    for (int l = 0; l < 32; l++) {
        const MufuSegment& s = F::TABLE[segment[l]];
        sum[l] = s.c0 + (s.c1 * int32_t(low[l]) + s.c2 * int32_t(square[l]));
    }
    TILE_LANES
    for (int l = 0; l < 32; l++) y[l] = F::end(sum[l], x[l]);
}
template <class F> void mufu(const uint32_t* x, uint32_t* y) {
    if constexpr (F::IN_WORDS) mufu_in_words<F>(x, y);
    else mufu_in_doubles<F>(x, y);
}

} // namespace

const MufuUnit mufu_unit = {&mufu<MufuRcp>, &mufu<MufuRsqrt>, &mufu<MufuSqrt>, &mufu<MufuEx2>,    &mufu<MufuLg2>,
                            &mufu<MufuSin>, &mufu<MufuCos>,   &mufu<MufuTanh>, &mufu<MufuEx2Full>};

} // namespace emu::num::EMU_LEVEL

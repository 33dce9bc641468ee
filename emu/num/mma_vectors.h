// SPDX-License-Identifier: Apache-2.0
// Vectors for the files of emu/num that are compiled once for each instruction-set level, and how rows of a tile come
// into them.
//
// A vector holds W of the 16 rows of one column, so that B is one value for all lanes. In registers lane 4g + t has row
// g, and t counts columns; four vectors of registers, transposed in their quads, are vectors of rows. In which order
// rows stand there does not matter, as long as A, C and D agree: place i is row 4 (i % 4) + i / 4.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#define TILE_WIDTH 16
#elif defined(__AVX2__)
#include <immintrin.h>
#define TILE_WIDTH 8
#else
#define TILE_WIDTH 4
#endif

#define TILE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define TILE_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TILE_LANES _Pragma("GCC ivdep")
#endif

namespace emu::num::EMU_LEVEL {
namespace {

constexpr int W = TILE_WIDTH;
typedef uint32_t Words __attribute__((vector_size(4 * W)));
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef float Floats __attribute__((vector_size(4 * W)));
typedef int16_t Halves __attribute__((vector_size(4 * W))); // a pair for each word
typedef uint16_t NaturalHalves __attribute__((vector_size(4 * W)));
typedef uint8_t Bytes __attribute__((vector_size(4 * W))); // four for each word

TILE_INLINE Words load(const uint32_t* from) {
    Words v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
TILE_INLINE Ints load(const int32_t* from) {
    Ints v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
TILE_INLINE Floats load(const float* from) {
    Floats v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
template <class T, class V> TILE_INLINE void store(T* to, const V& v) {
    static_assert(sizeof(T) == 4 && sizeof(V) == 4 * W);
    std::memcpy(to, &v, sizeof v);
}

template <class V> TILE_INLINE V larger(const V& a, const V& b) { return a > b ? a : b; }
template <class V> TILE_INLINE V smaller(const V& a, const V& b) { return a < b ? a : b; }

// Is a bit of v set?
TILE_INLINE bool any_of(const Words& v) {
#if TILE_WIDTH == 16
    return _mm512_test_epi32_mask(__m512i(v), __m512i(v));
#elif TILE_WIDTH == 8
    return !_mm256_testz_si256(__m256i(v), __m256i(v));
#else
    uint64_t halves[2];
    std::memcpy(halves, &v, sizeof v);
    return halves[0] | halves[1];
#endif
}
// Of each x: bits, some of them set if x is no whole number. Infinities and NaN seem whole, or not.
TILE_INLINE Words fraction_of(const Floats& x) {
#if TILE_WIDTH == 16
    return Words(Floats(_mm512_reduce_ps(__m512(x), _MM_FROUND_TO_NEAREST_INT)));
#elif TILE_WIDTH == 8
    return Words(Floats(_mm256_round_ps(__m256(x), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))) ^ Words(x);
#else
    const Words cut = Words(__builtin_convertvector(__builtin_convertvector(x, Ints), Floats));
    return (cut ^ Words(x)) & Words(Ints(Words(x) & 0x7fffffff) < 0x4b800000); // beyond 2^24 all are whole
#endif
}
// Magnitudes of a and b, the larger one, NaN above all others.
TILE_INLINE Words larger_magnitude(const Words& magnitude, const Floats& b) {
    return Words(larger(Ints(magnitude), Ints(Words(b) & 0x7fffffff)));
}
TILE_INLINE int largest_of(const Ints& v) {
    typedef int32_t Four __attribute__((vector_size(16)));
    Four parts[W / 4];
    std::memcpy(parts, &v, sizeof parts);
    Four most = parts[0];
    for (int i = 1; i < W / 4; ++i) most = most > parts[i] ? most : parts[i];
    const int low = most[0] > most[1] ? most[0] : most[1], high = most[2] > most[3] ? most[2] : most[3];
    return low > high ? low : high;
}

#if TILE_WIDTH == 16
#define TILE_SHUFFLE(x, y, a, b, c, d)                                                                                \
    __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4, a + 8, b + 8, c + 8, d + 8, a + 12, b + 12, \
                            c + 12, d + 12)
#elif TILE_WIDTH == 8
#define TILE_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d, a + 4, b + 4, c + 4, d + 4)
#else
#define TILE_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#endif

// Four words, in all quads.
TILE_INLINE Words repeat_quad(const uint32_t* from) {
    typedef uint32_t Quad __attribute__((vector_size(16)));
    Quad q;
    std::memcpy(&q, from, sizeof q);
#if TILE_WIDTH == 16
    return __builtin_shufflevector(q, q, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#elif TILE_WIDTH == 8
    return __builtin_shufflevector(q, q, 0, 1, 2, 3, 0, 1, 2, 3);
#else
    return q;
#endif
}

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

} // namespace
} // namespace emu::num::EMU_LEVEL

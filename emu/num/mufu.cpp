// SPDX-License-Identifier: Apache-2.0
// The tables from the integers that were fitted, which count in grids: of c0, and of the bias that all c0 of a function
// share, 2^-17 of the result's last place, of c1 the same for each step of `low`, of c2 for each of the square.
#include "mufu.h"

#include <cstddef>
#include <type_traits>

#include "mma_tile.h"

namespace emu::num {
namespace {

struct Integers {
    int c0, c1, c2;
};
struct Grid {
    int bias, c0, c1, c2;
};

constexpr double power(int n) { // of two, at most 0
    return n < 0 ? power(n + 1) / 2 : 1;
}
template <size_t N>
constexpr void fill(std::array<MufuSegment, N>& out, const Integers* in, const Grid& grid, int place) {
    for (size_t i = 0; i < N; i++) {
        int below = 0; // of tanh: binades below 1, each with a last place of its own
        while (N == 51 && below < 8 && i < MUFU_TANH_FIRST[8 - below]) below++;
        const double unit = power(place - below - 17);
        out[i] = {(double(in[i].c0) * grid.c0 + grid.bias) * unit, double(in[i].c1) * grid.c1 * unit,
                  double(in[i].c2) * grid.c2 * unit};
    }
}
// In grids of c1, the finest.
template <size_t N> constexpr void fill(MufuTable<N>& out, const Integers* in, const Grid& grid, int) {
    out.bias = grid.bias / grid.c1;
    for (out.places = 17; grid.c1 >> (17 - out.places) > 1;) out.places--;
    for (size_t i = 0; i < N; i++) // the segment that is furthest away says how far
        while (in[i].c1 - out.more > 32767 || in[i].c1 - out.more < -32768) out.more += in[i].c1 < 0 ? -32768 : 32768;
    for (size_t i = 0; i < N; i++) {
        out.c0[i] = uint32_t(in[i].c0) * unsigned(grid.c0 / grid.c1 / 512);
        out.c1_c2[i] = uint32_t(in[i].c1 - out.more) << 16 | uint16_t(in[i].c2 * (grid.c2 / grid.c1));
        out.segments[i] = {out.c0[i], out.c1_c2[i]};
    }
}
template <class T> constexpr T filled(const Integers* in, const Grid& grid, int place) {
    T out{};
    fill(out, in, grid, place);
    return out;
}
} // namespace

#define SEGMENTS(name, place, bias, c0, c1, c2, ...)      \
    constexpr Integers INTEGERS_##name[] = {__VA_ARGS__}; \
    constexpr decltype(mufu_##name) mufu_##name =         \
        filled<std::remove_const_t<decltype(mufu_##name)>>(INTEGERS_##name, {bias, c0, c1, c2}, place);
#include "mufu_segments.inc"

const MufuUnit& best_mufu = *tile_levels().front().mufu;

} // namespace emu::num

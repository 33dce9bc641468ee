// SPDX-License-Identifier: Apache-2.0
// The tables from the integers that were fitted, which count in grids: of c0, and of the bias that all c0 of a function
// share, 2^-17 of the result's last place, of c1 the same for each step of `low`, of c2 for each of the square.
#include "mufu.h"

#include <cstddef>

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
template <size_t N> constexpr auto scaled(const Integers (&in)[N], const Grid& grid, int place) {
    std::array<MufuSegment, N> out{};
    for (size_t i = 0; i < N; i++) {
        int below = 0; // of tanh: binades below 1, each with a last place of its own
        while (N == 51 && below < 8 && i < MUFU_TANH_FIRST[8 - below]) below++;
        const double unit = power(place - below - 17);
        out[i] = {(double(in[i].c0) * grid.c0 + grid.bias) * unit, double(in[i].c1) * grid.c1 * unit,
                  double(in[i].c2) * grid.c2 * unit};
    }
    return out;
}
} // namespace

#define SEGMENTS(name, place, bias, c0, c1, c2, ...)      \
    constexpr Integers INTEGERS_##name[] = {__VA_ARGS__}; \
    constexpr decltype(mufu_##name) mufu_##name = scaled(INTEGERS_##name, {bias, c0, c1, c2}, place);
#include "mufu_segments.inc"

} // namespace emu::num

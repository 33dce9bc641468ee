// SPDX-License-Identifier: Apache-2.0
// The special function unit (MUFU) of an NVIDIA H200, by which rcp, rsqrt, sqrt, ex2, lg2, sin, cos and tanh are
// approximated there, and its tables. Found by tests/card/sweep.py and fit.py; mufu_unit.cpp computes with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace emu::num {

// On a segment of the argument, of which `low` is the next 17 bits: c0 + c1 low + c2 square(low), exact in doubles.
struct MufuSegment {
    double c0, c1, c2;
};
// The same in words of 32 bits: 512 c0 + c1 low + c2 square(low) + bias, of which the last `places` bits are below the
// last place of results from 1 / 2 to 1, or from 1 to 2. Of c1, `more` is left out, so that it has 16 bits: it stands
// above c2 in one word.
struct MufuWords {
    uint32_t c0, c1_c2;
};
template <std::size_t N> struct MufuTable {
    int32_t bias, more;
    uint32_t places;
    alignas(16) MufuWords segments[N];
    alignas(64) uint32_t c0[N], c1_c2[N]; // the same
};

// Segments are chosen by the first bits of the significand.
extern const MufuTable<128> mufu_rcp;               // of [1, 2): values up to 1; seven bits, and sixteen are left
extern const MufuTable<128> mufu_rsqrt;             // of [1, 2), then of [2, 4): values up to 1; six bits each
extern const MufuTable<128> mufu_sqrt;              // the same: values from 1 to 2
extern const MufuTable<64> mufu_ex2;                // of the fraction of the argument: values from 1 to 2
extern const MufuTable<64> mufu_sin;                // of a quarter of a turn
extern const MufuTable<64> mufu_lg2;                // of [1, 2): values from 0 to 1
extern const std::array<MufuSegment, 51> mufu_tanh; // of [2^-8, 2^-7), [2^-7, 2^-6) ... [4, 8), as follows
constexpr unsigned MUFU_TANH_BITS[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3}; // that choose, in each binade
constexpr unsigned MUFU_TANH_FIRST[] = {0,  1,  2,  3,  5,  7,
                                        11, 15, 19, 27, 43, 51}; // segment of each binade, and the end

// y[l] = the function of x[l], as bits of floats, of 32 lanes. y may be x.
using MufuFunction = void (*)(const uint32_t* x, uint32_t* y);
struct MufuUnit {
    MufuFunction rcp, rsqrt, sqrt, ex2, lg2, sin, cos, tanh;
    MufuFunction ex2_full; // with what programs do around it where results may be subnormal
};
namespace plain {
extern const MufuUnit mufu_unit;
}
namespace avx2 {
extern const MufuUnit mufu_unit;
}
namespace avx512 {
extern const MufuUnit mufu_unit;
}
extern const MufuUnit& best_mufu; // of what this host can run

} // namespace emu::num

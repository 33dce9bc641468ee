// SPDX-License-Identifier: Apache-2.0
// The tables of the special function unit (MUFU) of an NVIDIA H200, by which rcp, rsqrt, sqrt, ex2, lg2, sin, cos and
// tanh are approximated there. Found by tests/card/sweep.py and fit.py; emu/exec/mufu.h computes with them.
#pragma once

#include <array>

namespace emu::num {

// On a segment of the argument, of which `low` is the next 17 bits: c0 + c1 low + c2 square(low), exact in doubles.
struct MufuSegment {
    double c0, c1, c2;
};

// Segments are chosen by the first bits of the significand.
extern const std::array<MufuSegment, 128> mufu_rcp;   // of [1, 2): values up to 1; seven bits, and sixteen are left
extern const std::array<MufuSegment, 128> mufu_rsqrt; // of [1, 2), then of [2, 4): values up to 1; six bits each
extern const std::array<MufuSegment, 128> mufu_sqrt;  // the same: values from 1 to 2
extern const std::array<MufuSegment, 64> mufu_ex2;    // of the fraction of the argument: values from 1 to 2
extern const std::array<MufuSegment, 64> mufu_lg2;    // of [1, 2): values from 0 to 1
extern const std::array<MufuSegment, 64> mufu_sin;    // of a quarter of a turn
extern const std::array<MufuSegment, 51> mufu_tanh;   // of [2^-8, 2^-7), [2^-7, 2^-6) ... [4, 8), as follows
constexpr unsigned MUFU_TANH_BITS[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3}; // that choose, in each binade
constexpr unsigned MUFU_TANH_FIRST[] = {0,  1,  2,  3,  5,  7,
                                        11, 15, 19, 27, 43, 51}; // segment of each binade, and the end

} // namespace emu::num

// SPDX-License-Identifier: Apache-2.0
// How far on is what kernels tell the second-level cache of (ptx/lib/tile/piece_soon.ptxh).
#pragma once

#include "core/divide.h"

namespace spark {

constexpr int64_t L2_UNIT = 16; // what it is told of begins on so many bytes, and has whole ones

// In pieces of so many bytes: what memory brings in the time that it takes, 16 KB for each SM, or a multiple of that
// where more is read than written. Further on, what is written drives it out again before it is read.
inline uint32_t soon_of(uint32_t sms, uint32_t times, int64_t bytes) {
    constexpr int64_t AN_SM = 16 << 10;
    return static_cast<uint32_t>(ceil_div(sms * times * AN_SM, bytes > 0 ? bytes : 1));
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Pieces that kernels tell the second-level cache of before they begin (ptx/lib/tile/piece_soon.ptxh).
#pragma once

#include <cstdint>

#include "core/divide.h"

namespace spark {

constexpr int64_t L2_UNIT = 16; // what it is told of begins on so many bytes, and has whole ones

// How many pieces on is the one that it is told of, and of how many bytes.
struct Soon {
    uint32_t pieces = 0, bytes = 0; // none
};

// Of `count` pieces of so many bytes, one behind the other from x on: what memory brings while a read takes its time.
// Further on, what is written drives it out again before it is read: a_SM is how far, in bytes of x for each SM. Where
// pieces are few, blocks begin so close to each other that nothing is told in time.
inline Soon soon_of(uint64_t x, int64_t bytes, int64_t count, int64_t an_sm, uint32_t sms) {
    constexpr int64_t MANY = 4;
    if (bytes <= 0 || bytes % L2_UNIT != 0 || x % L2_UNIT != 0) return {};
    const int64_t soon = ceil_div(sms * an_sm, bytes);
    if (count < MANY * soon) return {};
    return {static_cast<uint32_t>(soon), static_cast<uint32_t>(bytes)};
}

} // namespace spark

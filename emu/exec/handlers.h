// SPDX-License-Identifier: Apache-2.0
// Included by every file of handlers. Those files are compiled once for each instruction-set level (plain, AVX2),
// each in a namespace of its own (EMU_LEVEL); the launch takes the best one that the host has.
// Handlers know Warp and Inst; they never parse, schedule or report by themselves.
#pragma once

#include <cstdint>
#include <cstring>

#include "warp.h"

#ifndef EMU_LEVEL
#define EMU_LEVEL plain
#endif

// Lanes are independent: a destination either equals a source or does not overlap it.
#if defined(__clang__)
#define EMU_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define EMU_LANES _Pragma("GCC ivdep")
#endif
#define EMU_INLINE inline __attribute__((always_inline))

namespace emu::EMU_LEVEL {
// Each family of the opcode table has one entry.
#define OP(mnemonic, family, ...) Handler pick_##family(const Form& form, Inst& in);
#include "../ir/opcodes.inc"
#undef OP

// f(lane) for the lanes of w.mask; all 32 in a straight loop when the mask is full. Body must be branch-free to
// vectorise.
template <class F> EMU_INLINE void each_lane(uint32_t mask, F f) {
    if (mask == FULL) {
        EMU_LANES
        for (int l = 0; l < 32; l++) f(l);
    } else {
        for (uint32_t m = mask; m; m &= m - 1) f(__builtin_ctz(m));
    }
}
} // namespace emu::EMU_LEVEL

// check_shared, check_global, define_shared: bounds, alignment, defined bits, counters and observer in one call.
#include "access.h"

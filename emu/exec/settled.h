// SPDX-License-Identifier: Apache-2.0
// Comparisons of integers of which some bits are undefined: has the result one value, whatever these bits are?
#pragma once

#include <cstdint>

namespace emu {

struct PartlyKnown {
    uint64_t value, undefined;
    uint64_t least() const { return value & ~undefined; }
    uint64_t most() const { return value | undefined; }
};

// `comparison` as setp numbers them; both have `bits` bits.
inline bool settled(unsigned comparison, bool is_signed, unsigned bits, PartlyKnown a, PartlyKnown b) {
    const uint64_t all = UINT64_MAX >> (64 - bits), sign = is_signed ? 1ull << (bits - 1) : 0;
    a = {(a.value ^ sign) & all, a.undefined & all}; // in the order of numbers without a sign
    b = {(b.value ^ sign) & all, b.undefined & all};
    switch (comparison) {
    case 0: // eq, ne: a bit that both know differs
    case 1: return ((a.value ^ b.value) & ~(a.undefined | b.undefined)) || !(a.undefined | b.undefined);
    case 2: // lt, ge
    case 5: return a.most() < b.least() || a.least() >= b.most();
    default: return a.most() <= b.least() || a.least() > b.most(); // le, gt
    }
}

} // namespace emu

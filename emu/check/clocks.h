// SPDX-License-Identifier: Apache-2.0
// Vector clocks of the warps of one block. Used by the checker; knows no memory and no instructions.
//
// known[w][v] = the last moment of warp v that warp w is ordered after; known[w][w] = w's own clock.
// Own clocks of warps that leave a barrier are made equal, so that "all read in the same interval" is one number.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace emu {

using VectorClock = std::array<uint32_t, 32>;

inline void join(VectorClock& into, const VectorClock& from) {
    for (unsigned i = 0; i < 32; ++i) into[i] = std::max(into[i], from[i]);
}

class Clocks {
public:
    void reset() {
        for (auto& v : known_) v.fill(0);
        for (unsigned w = 0; w < 32; ++w) known_[w][w] = 1;
        for (auto& v : fenced_) v.fill(0);
        for (auto& v : seen_) v.fill(0);
        for (auto& v : barrier_) v.fill(0);
    }
    uint32_t now(unsigned w) const { return known_[w][w]; }
    // Is moment `clock` of warp `v` before what warp w does now?
    bool before(unsigned v, uint32_t clock, unsigned w) const { return clock <= known_[w][v]; }
    uint32_t knows(unsigned w, unsigned v) const { return known_[w][v]; }
    const VectorClock& all(unsigned w) const { return known_[w]; }

    void arrive(unsigned w, unsigned barrier, bool goes_on) {
        join(barrier_[barrier], known_[w]);
        if (goes_on) ++known_[w][w]; // what it does next is not released
    }
    void release(unsigned barrier, uint32_t waiters) {
        VectorClock& all = barrier_[barrier];
        const uint32_t next = *std::max_element(all.begin(), all.end()) + 1;
        for (uint32_t m = waiters; m; m &= m - 1) {
            const unsigned w = unsigned(__builtin_ctz(m));
            join(known_[w], all);
            known_[w][w] = std::max(known_[w][w], next);
        }
        all.fill(0);
    }
    // Fences turn relaxed atomics into order: what precedes a fence is released by a later atomic, what an atomic has
    // seen is acquired at the next fence.
    void fence(unsigned w) {
        join(known_[w], seen_[w]);
        fenced_[w] = known_[w];
        ++known_[w][w];
    }
    void atomic(unsigned w, VectorClock& word) {
        join(seen_[w], word);
        join(word, fenced_[w]);
    }

private:
    std::array<VectorClock, 32> known_, fenced_, seen_;
    std::array<VectorClock, 16> barrier_;
};

} // namespace emu

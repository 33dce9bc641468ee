// SPDX-License-Identifier: Apache-2.0
// The mbarriers of one block: their counts, and what may be done with them. Changed by the handlers in mbarrier.cpp and
// by copies that land (async_engine.cpp). Knows shared memory as a place to keep a word; knows no instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu {

struct Cta;

// One mbarrier. Shared memory holds word(), which programs see only as the state that an arrival returns.
struct Mbarrier {
    static constexpr uint32_t MOST = (1u << 20) - 1; // of every count, and of the bytes either way
    static constexpr uint32_t PHASES = 8;            // that a state tells apart

    uint32_t address = 0;
    uint32_t phase = 0;    // complete ones, modulo PHASES
    uint32_t expected = 0; // arrivals of each coming phase
    uint32_t pending = 0;  // arrivals that this phase still lacks
    int32_t tx = 0;        // bytes that were announced and have not come; below 0: came first

    // pending, expected (20 bits each), tx (21), phase (3), from the low end.
    uint64_t word() const {
        return pending | uint64_t(expected) << 20 | uint64_t(uint32_t(tx) & 0x1fffff) << 40 | uint64_t(phase) << 61;
    }
    static uint32_t phase_of(uint64_t state) { return uint32_t(state >> 61); }
    static uint32_t pending_of(uint64_t state) { return uint32_t(state) & MOST; }
    bool parity_done(uint32_t parity) const { return (phase ^ parity) & 1; }

    // Each says what is wrong, or nothing and has done it; then mbarrier_changed() is due.
    std::string arrive(uint32_t count, bool drop, bool may_complete);
    std::string expect(uint32_t bytes);
    std::string complete(uint32_t bytes);
    std::string more_arrivals(uint32_t count); // this phase lacks so many more
};

// Those that are initialised, by address.
class Mbarriers {
public:
    void clear() { all_.clear(); }
    Mbarrier* find(uint32_t address);
    void add(const Mbarrier& b) { all_.push_back(b); }
    void remove(uint32_t address);

private:
    std::vector<Mbarrier> all_;
};

// The mbarrier at an address; nullptr: `problem` says why there is none.
Mbarrier* mbarrier_at(Cta& cta, uint32_t address, std::string& problem);
// After a change: completes the phase if nothing is missing, and writes the word.
void mbarrier_changed(Cta& cta, Mbarrier& b);
// "mbarrier at shared 0x400, in phase 2, lacks 1 of 4 arrivals and 0 bytes".
std::string describe(const Mbarrier& b);

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// What the blocks of one launch have done to global memory: the last write and two reads of each word, and when blocks
// released what they had done. Such a launch has one host thread. Knows no rules of threads and no instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "past.h"

namespace emu {

struct Cta;
struct Footprint;
struct Kernel;

struct GlobalAccess {
    uint64_t when = 0; // on the clock of the launch
    uint64_t block = 0;
    Moment moment = 0; // on the clock of its warp
    uint32_t lanes = 0;
    uint32_t pc = 0;
    uint16_t warp = 0;     // in the cluster
    uint8_t bytes = 0;     // of the word, a bit each; 0: no access
    bool strong = false;   // among threads of a block
    bool wide = false;     // among blocks too
    bool copy = false;     // asynchronous
    bool unseeing = false; // a load that need not see writes of its launch
    bool acquired = false; // its block had acquired something before
    bool together(const GlobalAccess& o) const {
        return block == o.block && warp == o.warp && moment == o.moment && pc == o.pc;
    }
};
struct GlobalWord {
    GlobalAccess write, reads[2];
};

// The clock counts releases and acquisitions. What a block did before it released anything is taken to be ordered
// before whatever is done by one that acquired anything later: which word they met at is not asked, so that a race can
// be missed, but never invented.
class GlobalRaces {
public:
    uint64_t now() const { return clock_; }
    void release(uint64_t block) { releases_[block].push_back(++clock_); }
    uint64_t acquire() { return ++clock_; }
    // Did the block release, after `when` and until `until`?
    bool released(uint64_t block, uint64_t when, uint64_t until) const {
        const auto found = releases_.find(block);
        if (found == releases_.end()) return false;
        const auto next = std::upper_bound(found->second.begin(), found->second.end(), when);
        return next != found->second.end() && *next <= until;
    }
    Footprint footprint(const Kernel& kernel) const;
    std::vector<const Cta*> running; // blocks
    GlobalWord& at(uint64_t address) {
        std::unique_ptr<Page>& words = pages_[address / PAGE];
        if (!words) words = std::make_unique<Page>();
        return (*words)[address % PAGE / 4];
    }

private:
    static constexpr uint64_t PAGE = 1024;
    using Page = std::array<GlobalWord, PAGE / 4>;
    uint64_t clock_ = 1;
    std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
    std::unordered_map<uint64_t, std::vector<uint64_t>> releases_; // by block, ascending
};

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk of one block: what is in flight, and when its bytes move. Loads end at an mbarrier, stores in groups of
// the thread that issued them. bulk_issue.cpp fills it; the AsyncEngine owns, resets and ticks it.
// Knows shared and global memory; knows nothing of instructions.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "bulk_reduce.h"
#include "warp.h"

namespace emu {

constexpr uint8_t POISON = 0xcb; // what bytes in flight hold: an odd, negative bf16 and f16

// Bytes that follow each other on both sides; in shared memory multiples of 16, at such addresses.
struct BulkPiece {
    uint64_t global = 0;
    uint32_t shared = 0, bytes = 0;
    uint32_t first = 0, last = 0; // of them lie in the tensor; a load fills the others, a store leaves them out
    bool whole() const { return first == 0 && last == bytes; }
};

struct BulkCopy {
    Cta* by = nullptr; // the block whose thread issued it: of a load, maybe another one of the cluster
    uint32_t warp = 0, lane = 0, pc = 0;
    uint32_t shared = 0, bytes = 0; // what the instruction says
    std::vector<BulkPiece> pieces;
    uint64_t lowest = 0, highest = 0; // of a store: the ends of what it writes
    uint16_t fill = 0;                // of a load: each 2 bytes outside of the tensor
    BulkReduction reduce = nullptr;   // of a store
    uint32_t mbarrier = 0;            // of a load
    uint32_t tests = 0;               // of a load: failed tests of the mbarrier until it lands at the latest
    uint64_t group = 0;               // of a store; 0: not committed
    bool read = false;                // of a store: `data` is what will be written; before, what was there at its issue
    bool waited = false;              // of a store: it has written, and its thread knows
    std::vector<uint8_t> data;        // of all pieces, one after the other
};

class BulkCopies {
public:
    explicit BulkCopies(Cta& cta) : cta_(cta) {}
    void reset();
    void load(BulkCopy&& copy);
    void store(BulkCopy&& copy);
    void commit(uint32_t warp, uint32_t lane);
    // Until at most `pending` of the thread's newest groups are in flight, or only their reading of shared memory.
    void wait(uint32_t warp, uint32_t lane, uint64_t pending, bool reads);
    bool deliver(uint32_t mbarrier); // after a failed test; did anything land?
    // Calls f(copy, lane, from, end, what will be there) for each overlap of what lanes access with what stores may
    // still write, until it says true; so says this.
    template <class F> bool storing(uint32_t lanes, const uint64_t* global, unsigned bytes, F f) const;
    bool end(); // of the block; false: reported a copy that shared memory still belongs to
    void tick();

private:
    void land(size_t index);
    void land_piece(const BulkPiece& piece, uint16_t fill);
    void tell_move(const BulkCopy& copy, const BulkPiece& piece, const uint8_t* stored) const;
    void read(BulkCopy& copy);
    void finish(BulkCopy& copy);
    void report_copy(const char* kind, const BulkCopy& copy, const std::string& what) const;

    Cta& cta_;
    std::vector<BulkCopy> loads_, stores_;
    std::map<uint32_t, uint64_t> commits_; // by thread of the block
};

template <class F> bool BulkCopies::storing(uint32_t lanes, const uint64_t* global, unsigned bytes, F f) const {
    for (const BulkCopy& c : stores_) {
        uint32_t near = 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            const uint64_t a = global[__builtin_ctz(m)];
            if (a < c.highest && c.lowest < a + bytes) near |= m & -m;
        }
        size_t before = 0; // bytes of the pieces before this one
        for (const BulkPiece& p : c.pieces) {
            for (uint32_t m = near; m; m &= m - 1) {
                const unsigned lane = unsigned(__builtin_ctz(m));
                const uint64_t from = std::max(global[lane], p.global + p.first),
                               end = std::min(global[lane] + bytes, p.global + p.last);
                if (from >= end) continue;
                const uint8_t* const brings = c.data.empty() ? nullptr : &c.data[before + (from - p.global)];
                if (f(c, lane, from, end, brings)) return true;
            }
            before += p.bytes;
        }
    }
    return false;
}

} // namespace emu

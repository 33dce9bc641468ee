// SPDX-License-Identifier: Apache-2.0
// shared::cluster addresses: which block of the cluster one belongs to, and an instruction's work on that block's
// shared memory. See PEER_BYTES.
#pragma once

#include "warp.h"

namespace emu {

// The block whose shared memory holds a shared::cluster address, seen from `from`; nullptr: the cluster has none there.
inline Cta* block_of(Cta& from, uint64_t address) {
    const uint64_t part = address / PEER_BYTES;
    if (part == 0) return &from;
    return part <= from.cluster->blocks.size() ? from.cluster->blocks[part - 1] : nullptr;
}
// What mapa gives: the address of the same place in the block of a rank, for the block `from`.
inline uint32_t address_in(const Cta& from, uint32_t address, uint32_t rank) {
    return address % PEER_BYTES + (rank == from.rank ? 0 : (rank + 1) * PEER_BYTES);
}

// While it lives, the warp's instruction works on a block's shared memory, for some of its lanes.
class AtBlock {
public:
    AtBlock(Warp& w, Cta& block, uint32_t lanes) : w_(w), mask_(w.mask) {
        w.cta = &block;
        w.mask = lanes;
    }
    ~AtBlock() {
        w_.cta = w_.own;
        w_.mask = mask_;
    }
    AtBlock(const AtBlock&) = delete;
    AtBlock& operator=(const AtBlock&) = delete;

private:
    Warp& w_;
    uint32_t mask_;
};

// exec/access.cpp: reports an address that no block of the cluster has; always false.
bool no_such_block(Warp& w, int lane, uint64_t address, unsigned bytes, bool write);

// Calls f(lanes, at) for the lanes of each block, at[l]: the address in that block. False: f was, or a report was made.
template <class F> bool each_block(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, bool write, F f) {
    for (uint32_t left = mask; left;) {
        const int first = __builtin_ctz(left);
        Cta* const block = block_of(*w.own, addr[first]);
        if (!block) return no_such_block(w, first, addr[first], bytes, write);
        uint32_t lanes = 0;
        uint64_t at[32] = {};
        for (uint32_t m = left; m; m &= m - 1) {
            const int l = __builtin_ctz(m);
            if (addr[l] / PEER_BYTES != addr[first] / PEER_BYTES) continue;
            lanes |= 1u << l;
            at[l] = addr[l] % PEER_BYTES;
        }
        left &= ~lanes;
        const AtBlock there(w, *block, lanes);
        if (!f(lanes, at)) return false;
    }
    return true;
}

} // namespace emu

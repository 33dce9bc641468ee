// SPDX-License-Identifier: Apache-2.0
// What threads of a cluster write asynchronously to the shared memory of one of its blocks: st.async, red.async, and
// bulk copies and reductions from their own shared memory. Each ends at an mbarrier of the block that it writes to,
// whose AsyncEngine owns, resets and ticks this. The handlers in remote.cpp fill it.
// Knows shared memory; knows nothing of instructions.
#pragma once

#include <vector>

#include "bulk_reduce.h"
#include "warp.h"

namespace emu {

struct RemoteWrite {
    Cta* by = nullptr; // the block whose thread issued it
    uint32_t warp = 0, lane = 0, pc = 0;
    uint32_t to = 0, bytes = 0, mbarrier = 0;
    uint32_t from = 0;              // of a copy: its source in `by`; 0: of a store
    BulkReduction reduce = nullptr; // changes what is there
    uint32_t tests = 0;             // failed tests of the mbarrier until it lands at the latest
    std::vector<uint8_t> data;      // what is written; of a copy, what its source held at its issue
    std::vector<bool> undefined;    // of a copy: its bytes that nobody wrote
};

class RemoteWrites {
public:
    explicit RemoteWrites(Cta& cta) : cta_(cta) {}
    void reset() { writes_.clear(); }
    void issue(RemoteWrite&& write);
    bool deliver(uint32_t mbarrier); // after a failed test; did anything land?
    // Of the block; false: reported a write that nobody waited for, or a copy to another block that still reads here.
    bool end();
    void tick();

private:
    void land(size_t index);
    bool source_changed(const RemoteWrite& write) const;
    const RemoteWrite* reading(const Cta& block) const;
    void report_write(const char* kind, const RemoteWrite& write, const std::string& what) const;

    Cta& cta_;
    std::vector<RemoteWrite> writes_;
};

} // namespace emu

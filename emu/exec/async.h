// SPDX-License-Identifier: Apache-2.0
// cp.async of one block: what is in flight, per warp and thread, and when its bytes arrive.
// The handlers in async.cpp fill it; the launch loop resets and ticks it through the functions of warp.h.
// Knows shared and global memory; knows nothing of instructions.
#pragma once

#include <deque>
#include <vector>

#include "bulk.h"
#include "remote.h"

namespace emu {

// One cp.async instruction: up to 32 copies of the same size.
struct AsyncCopy {
    uint32_t warp = 0, pc = 0;
    uint64_t number = 0;    // in the order of issue
    int32_t history = 0;    // the observer's
    uint32_t mask = 0;      // lanes whose copy has not been waited for
    uint32_t landed = 0;    // lanes whose bytes are already there
    uint32_t undefined = 0; // lanes whose source is not all defined
    uint8_t bytes = 0;
    bool whole = false; // all of them 16 bytes, and nothing becomes zero
    uint8_t valid[32];  // bytes to copy; the rest up to `bytes` becomes zero
    uint32_t dst[32];
    uint64_t src[32];
    AsyncCopy() {} // leaves what each lane has to who fills it
};

// What an mbarrier is told when copies have landed: lanes of one warp arrive.
struct AsyncArrival {
    uint32_t warp = 0, pc = 0, lanes = 0;
    uint32_t mbarrier = 0;
    uint64_t before = 0; // copies issued up to this number are waited for
    uint32_t tests = 0;  // failed tests of the mbarrier until they land at the latest
};

class AsyncEngine {
public:
    explicit AsyncEngine(Cta& cta) : bulk(cta), remote(cta), cta_(cta), warps_(cta.nwarps) {}
    void reset();
    AsyncCopy& begin(uint32_t warp); // to be filled, and issued unless its mask is 0
    void issue(AsyncCopy& copy);
    void commit(uint32_t warp, uint32_t lanes);
    // Lanes wait until at most `pending` of their newest groups are in flight. ALL: also what was not committed.
    static constexpr uint32_t ALL = 0xffffffffu;
    void wait(uint32_t warp, uint32_t lanes, uint32_t pending);
    // Each lane arrives at mbarrier[l] once what it has issued so far has landed.
    void arrive_after(uint32_t warp, uint32_t pc, uint32_t lanes, const uint32_t* mbarrier);
    bool deliver(uint32_t mbarrier); // after a failed test; did anything land?
    bool end();                      // of the block; false: reported that an mbarrier still waits for copies
    void tick();
    const AsyncCopy* covering(uint32_t shared_address, unsigned& lane) const;

    BulkCopies bulk;
    RemoteWrites remote;

private:
    // The copies of one commit_group. Groups of a warp stand in order of commit; a lane owns those whose mask has it.
    struct Group {
        uint32_t mask = 0;
        std::vector<AsyncCopy> copies;
    };
    struct OfWarp {
        std::vector<AsyncCopy> open; // issued, not committed
        std::deque<Group> groups;
    };
    void write_bytes(AsyncCopy& copy, uint32_t lanes);
    void land_whole(const AsyncCopy& copy, uint32_t lanes);
    void land(AsyncCopy& copy, uint32_t lanes, bool waited);
    void arrive(size_t index);
    std::string told_at(const AsyncArrival& a) const; // the start of a report
    void wait_some_lanes(OfWarp& warp, uint32_t lanes, uint32_t pending);
    uint32_t random(uint32_t below);

    Cta& cta_;
    std::vector<OfWarp> warps_;
    std::vector<AsyncArrival> arrivals_;
    std::vector<std::vector<AsyncCopy>> spare_; // of groups that have landed
    uint64_t issued_ = 0;
    uint32_t in_flight_ = 0;
};

} // namespace emu

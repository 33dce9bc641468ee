// SPDX-License-Identifier: Apache-2.0
// Who knows what of whom: the happens-before of the agents of one block, made by barriers, bar.warp.sync, fences and
// synchronising accesses. Used by the checker; knows addresses only as names of synchronisation objects.
#pragma once

#include <memory>
#include <unordered_map>

#include "past.h"

namespace emu {

class HappensBefore {
public:
    void reset();
    Moment now(unsigned agent) const { return agents_[agent].now; }
    // What every lane of the agent is ordered after. Its own entry: up to then its lanes know each other.
    const Past& known(unsigned agent) const { return agents_[agent].known; }
    // Is everything in `e` before what this lane does now? A lane is always after itself.
    bool before(const Event& e, unsigned agent, unsigned lane) const;

    void sync_lanes(unsigned agent, uint32_t lanes, uint32_t live); // bar.warp.sync
    void arrive(unsigned agent, uint32_t lanes, uint32_t live, unsigned barrier, bool goes_on);
    void release(unsigned barrier, uint32_t waiters);
    void fence(unsigned agent, uint32_t lanes, uint32_t live);
    // A synchronising read or write of the object `name`, by one lane. A write releases what the lane knew at its last
    // fence, or now; returns whether the object now holds anything.
    void read(unsigned agent, unsigned lane, uint32_t name, bool acquire);
    bool write(unsigned agent, unsigned lane, uint32_t name, bool release);
    // mbarriers: arrivals release to the name of their address; once the phase is complete, that can be acquired.
    static uint32_t completed(uint32_t name) { return name | 1; } // other names are even
    void complete_phase(uint32_t name) { objects_[completed(name)] = objects_[name]; }
    // fence.proxy.async by these lanes: all that they know of can be read by bulk copies, whoever issues them.
    void fence_proxy(unsigned agent, uint32_t lanes);
    bool is_fenced_for_proxy(const Event& e) const { return proxied_.has(e); }
    bool has_fenced(unsigned agent) const { return agents_[agent].has_fenced; }
    void step(unsigned agent) { ++agents_[agent].now; } // after releases: what follows is not part of them

private:
    // What each lane knows of each other one of its warp, beyond the moment that all of them know.
    using Rows = std::array<std::array<Moment, 32>, 32>;
    struct Agent {
        Moment now = 1;
        Past known;
        Past acquired; // by some lanes alone, until they meet the others
        uint32_t acquirers = 0;
        Past seen; // released, and read by some lanes: acquired at their next fence
        uint32_t seers = 0;
        Past fenced; // known at the last fence
        std::array<Moment, 32> fence{};
        std::unique_ptr<Rows> rows;
        bool apart = false;      // rows say something
        bool has_fenced = false; // some lane
    };
    void learn(unsigned agent, uint32_t lanes, const Past& past);
    Rows& rows_of(Agent& a);
    void add_own(const Agent& a, unsigned agent, uint32_t lanes, Past& to) const;

    std::array<Agent, AGENTS> agents_;
    std::array<Past, 16> barriers_;
    Past proxied_;
    std::unordered_map<uint32_t, Past> objects_;
};

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// Who knows what of whom: the happens-before of the agents of one cluster, made by barriers, bar.warp.sync, fences and
// synchronising accesses. Used by the checker; knows addresses only as names of synchronisation objects.
//
// `wide`: with a scope beyond the block. What is released or acquired without stays among the threads of one block.
#pragma once

#include <memory>
#include <unordered_map>

#include "past.h"

namespace emu {

class HappensBefore {
public:
    // What each lane knows of each other one of its warp, beyond the moment that all of them know.
    using Rows = std::array<std::array<Moment, 32>, 32>;
    struct Fenced {
        Past known;                  // at the last fence
        std::array<Moment, 32> at{}; // of each lane
    };
    struct Seen {
        Past past; // released, and read by some lanes: acquired at their next fence
        uint32_t lanes = 0;
    };
    // What an agent knows. Public for who asks at every access.
    struct Agent {
        Moment now = 1;
        Past known;
        Past acquired; // by some lanes alone, until they meet the others
        uint32_t acquirers = 0;
        Seen seen[2];     // of the own block; of others: they need a wide fence
        Fenced fenced[2]; // at the last fence; at the last wide one
        std::unique_ptr<Rows> rows;
        bool apart = false;      // rows say something
        bool has_fenced = false; // some lane
    };

    void reset(unsigned blocks, unsigned warps);           // warps: of each block
    const Agent* agents() const { return agents_.data(); } // until the next reset()
    Moment now(unsigned agent) const { return agents_[agent].now; }
    // What every lane of the agent is ordered after. Its own entry: up to then its lanes know each other.
    const Past& known(unsigned agent) const { return agents_[agent].known; }
    // Is everything in `e` before what this lane does now? A lane is always after itself.
    bool before(const Event& e, unsigned agent, unsigned lane) const;
    bool knows_start(unsigned agent, unsigned lane, unsigned block) const; // of another block: that it has begun
    void add_known(unsigned agent, uint32_t lanes, Past& to) const;        // what these lanes are ordered after

    void sync_lanes(unsigned agent, uint32_t lanes, uint32_t live); // bar.warp.sync
    void arrive(unsigned agent, uint32_t lanes, uint32_t live, unsigned barrier, bool goes_on);
    void release(unsigned block, unsigned barrier, uint32_t waiters);
    void fence(unsigned agent, uint32_t lanes, uint32_t live, bool wide);
    // The barrier of the cluster. Who arrives and does not release tells that its block has begun, and what its last
    // fence made ready, for all if that has the scope of the cluster, else for its block.
    void cluster_arrive(unsigned agent, uint32_t lanes, uint32_t live, bool release);
    void cluster_complete();
    void cluster_pass(unsigned agent, uint32_t lanes, uint32_t live);
    // A synchronising read or write of the object `name`, by one lane. A write releases what the lane knew at its last
    // fence, or now; returns whether the object now holds anything.
    void read(unsigned agent, unsigned lane, uint32_t name, bool acquire, bool wide);
    bool write(unsigned agent, unsigned lane, uint32_t name, bool release, bool wide);
    // mbarriers: arrivals release to the name of their address; once the phase is complete, that can be acquired.
    static uint32_t completed(uint32_t name) { return name | 1; } // other names are even
    void complete_phase(uint32_t name);
    // fence.proxy.async by these lanes: all that they know of can be read by bulk copies, whoever issues them.
    void fence_proxy(unsigned agent, uint32_t lanes);
    bool is_fenced_for_proxy(const Event& e) const { return proxied_.has(e); }
    void step(unsigned agent) { ++agents_[agent].now; } // after releases: what follows is not part of them

private:
    static constexpr unsigned BARRIERS = 16; // of a block
    static constexpr Moment START = 1;       // in clusters, a moment without accesses
    // What a block's threads released to a name, for all blocks (wide) or for their own.
    static uint64_t object(uint32_t name, unsigned block, bool wide) {
        return name | uint64_t(block) << 32 | uint64_t(wide) << 63;
    }
    void learn(unsigned agent, uint32_t lanes, const Past& past);
    Rows& rows_of(Agent& a);
    void add_own(const Agent& a, unsigned agent, uint32_t lanes, Past& to) const;
    void add_arrival(unsigned agent, uint32_t lanes, uint32_t live, Past& to);
    void add_fenced(const Agent& a, unsigned agent, unsigned lane, bool wide, Past& to) const;

    unsigned blocks_ = 1, warps_ = 0;
    std::vector<Agent> agents_;
    std::vector<Past> barriers_;
    Past arriving_, complete_;                    // at the barrier of the cluster: in this phase, in the one before
    std::vector<Past> arriving_in_, complete_in_; // the same, for the threads of one block; of several blocks alone
    Moment after_cluster_ = 0;                    // the least moment of who goes on from it
    Past proxied_;
    std::unordered_map<uint64_t, Past> objects_;
};

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// Races between launches, copies and fills (global_races=1): each op has a place in the order that streams, events,
// graphs and waits of the host make, as a vector clock; what it touched is held against what unordered ones touched
// before. Used by the scheduler, under the state lock.
#pragma once

#include "emu/engine.h"

#include <memory>
#include <string>
#include <vector>

namespace emu::driver {

struct Op;

// Ops that follow each other share a chain. An op comes after another if it knows of that one's tick.
struct OpOrder {
    std::vector<uint64_t> known; // by chain: the last tick of it that comes before the op, or is the op
    size_t chain = 0;
    uint64_t tick = 0; // 0: never placed
};

class LaunchRaces {
public:
    void place(OpOrder& op, const std::vector<std::shared_ptr<Op>>& after);
    void learn(const OpOrder& op); // the host knows that it is done: what is submitted from now on comes after it
    void learn_all();
    struct Race {
        std::string sides; // empty: none
        uint64_t address = 0;
        std::string replay;
    };
    Race done(const OpOrder& op, const std::string& name, Footprint footprint); // the op has been carried out
    void forget(uint64_t address, uint64_t bytes);                              // new memory

private:
    struct Past {
        size_t chain;
        uint64_t tick;
        std::string name;
        Footprint footprint;
    };
    std::vector<uint64_t> tails_, host_; // by chain: the last tick; the last that the host knows to be done
    std::vector<Past> past_;             // what the host does not know to be done
};

} // namespace emu::driver

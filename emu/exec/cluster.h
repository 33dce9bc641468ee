// SPDX-License-Identifier: Apache-2.0
// The blocks of one cluster, run by one host thread in turns: to launch.cpp they are one thing that runs, waits and
// ends. A cluster of one block is that block.
#pragma once

#include "block.h"

namespace emu {

class ClusterRun {
public:
    explicit ClusterRun(Launch& launch);
    void begin(uint64_t number); // takes up cluster `number`
    Stop run(uint64_t budget);   // until all blocks have ended, or exactly `budget` warp instructions
    uint64_t executed() const;   // warp instructions since begin()
    uint64_t changes() const;    // see Cta::changes
    void report_launch_limit();
    void report_waiting(const char* kind, const std::string& what);
    void add_to(Counters& total) const;

private:
    enum class State : uint8_t { runs, waits, blocked, ended };
    size_t choose();
    uint64_t turn_length();
    Stop all_idle();
    void note(size_t block, Stop stop, bool changed);

    Launch& launch_;
    Cluster cluster_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<State> states_;
    size_t running_ = 0; // whose turn it is
    uint64_t left_ = 0;  // of that turn
    unsigned quiet_ = 0; // turns in which nothing changed
    uint64_t turns_ = 0;
    uint64_t rng_ = 0;
};

} // namespace emu

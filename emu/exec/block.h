// SPDX-License-Identifier: Apache-2.0
// One block with everything it needs to run: register files, shared memory, warps. Reused for block after block by one
// host thread; launch.cpp owns it.
#pragma once

#include <cstdlib>
#include <memory>

#include "warp.h"

namespace emu {

// blocked: every warp waits for something that only the cluster's other blocks can bring. waiting: every warp waits,
// and some of them in loops that another block can end.
enum class Stop : uint8_t { blocked, turn_over, waiting, finished, failed };

class Block {
public:
    Block(Launch& launch, Cluster& cluster, Observer* first); // first: of the cluster's first block
    ~Block();
    static uint64_t bytes(const Launch& launch); // that one takes of the host
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    void begin(Dim3 id, uint32_t rank);   // takes up a block of the grid
    Stop run(uint64_t budget);            // until it ends, or exactly `budget` warp instructions
    void report_launch_limit();           // about the warp that ran longest and could go on
    uint32_t describe(std::string& text); // adds each warp's wait; one of their places
    void add_to(Counters& total) const;   // everything since the object was made

    Cta cta;
    Launch* launch;

private:
    Stop run_warp(Warp& w, uint64_t budget); // run.cpp
    template <bool LATE_READS> Stop run_warp(Warp& w, uint64_t budget);
    int choose_warp();
    void mark_places();
    void start_warp(Warp& w);
    void fill_special(Warp& w, uint16_t slot, uint8_t which);
    bool all_wait() const;
    bool waits_for_cluster() const;
    bool waits_for_grids();
    void report_deadlock();
    void report_limit(Warp& w, const std::string& which);
    uint64_t quantum();

    std::vector<Warp> warps_;
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<uint32_t, Free> registers_; // one allocation: registers, predicates, undefined masks of all warps
    size_t words_per_warp_ = 0;
    std::vector<uint8_t> local_, local_undefined_;
    std::vector<uint8_t> shared_;
    std::vector<uint32_t> shared_defined_, shared_inside_;
    std::vector<bool> blocked_;
    Counters scalar_;
    std::vector<uint32_t> counts; // executions of each instruction since the last fold
    std::vector<uint64_t> total_counts_;
    uint64_t lane_instructions = 0;
    uint32_t next_warp_ = 0;
    uint32_t starved_ = 0;
    void fold_counts();
};

} // namespace emu

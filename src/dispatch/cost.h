// SPDX-License-Identifier: Apache-2.0
// What a launch would cost on a chip, in picoseconds: waves of blocks times the time of a block, or the time of the
// memory that it must read and write, whichever is longer. Counts come from kernels' headers and the plan's own
// arithmetic, rates from chips.inc. Integers only, and no division by anything but SMs and blocks: it runs in every
// launch. Knows neither operators nor the driver.
#pragma once

#include <cstdint>

#include "dispatch/chips.h"
#include "dispatch/kernel.h"

namespace spark {

// What a block does in one step of its loop.
struct Step {
    uint32_t products = 0;  // mma.sync m16n8k16, or as many tensor clocks of another
    uint32_t shared = 0;    // bytes of shared memory, read and written
    uint32_t fetched = 0;   // bytes that come through L2
    uint32_t issued = 0;    // instructions of warps
    uint32_t turns = 1;     // times that a warp waits for its own results
    uint32_t behind = 0;    // of these, how many come before the loads of a later step begin
    bool full_rate = false; // products are none that GeForce cards make at half the rate
};

// A number of a kernel that a row keeps in 16 bits: what needs more does not compile.
class Count {
public:
    constexpr Count(uint32_t value) : value_(static_cast<uint16_t>(value)) {
        if (value > UINT16_MAX) does_not_fit();
    }
    constexpr operator uint32_t() const { return value_; }

private:
    static void does_not_fit() {} // called only while compiling: the compiler's message shows the name
    uint16_t value_;
};

// Of a kernel, from its constants. Families fill it while compiling (Family's tile_of).
struct Tile {
    Count rows = 0, columns = 0; // of the output, or as the family says
    Count depth = 0;             // of the sum, a step
    Count stages = 0;            // steps that loads are ahead of their use; 0: a step waits for its own
    Count filled = 0;            // steps whose loads have come when the first begins (a round)
    Count syncs = 0;             // waits of a block's threads for each other, apart from steps
    Count rounds = 0;            // as in Load, for every problem
    Count copied = 0;            // rows that a round copies before the first step; 0: all there are
    Count stored = 0;            // rows that a round stores after the last; 0: likewise
    bool splits = false;         // the sum can be cut into parts
    bool joins = false;          // two parts are the blocks of a cluster, which add them
    Count inside = 50;           // percent that comes through L2 besides of rows that begin inside sectors
    bool gates = false;          // two columns of the sum can become one of the output
    bool codes = false;          // it takes codes where others of the contract have them widened by a launch before
    Count part = 0;              // how long each of them is; 0: as the device wants it
    Step step{};
};

// Of a problem and a kernel: what the plan would launch.
struct Load {
    int64_t blocks;
    int64_t steps;     // of a block, on average
    int64_t longest;   // of the longest block
    uint64_t bytes;    // of memory, read and written at least
    uint32_t launches; // one after the other
    uint64_t merged;   // bytes that launches after the first read back
    int64_t later;     // clocks that an SM needs for their blocks beside that, all together
    uint32_t stages;   // as in Tile
    uint32_t filled;   // as in Tile
    uint32_t syncs;    // as in Tile
    uint32_t written;  // bytes of sums that a block turns into results after its last step, on average
    uint32_t late;     // and how many more the block that has the most of them
    uint32_t rounds;   // of finding rows and moving them, one after the other, before the first step or after the last
    Step step;
    int64_t cost; // where the cut was chosen by it, else 0
};

// A chip as the formula wants it, made once per context.
struct Target {
    uint32_t sms;
    uint32_t resident_limit[4]; // of an SM: bytes of shared memory, registers, warps, blocks
    uint32_t tick;              // 1/16 clock, in 1/1024 ps
    uint32_t product;           // 1/64 ticks of an SM
    uint32_t full_product;      // the same of those at full rate
    uint32_t fetched, memory;   // ticks a MiB: of L2, of one SM's share; of memory, of the whole chip
    uint32_t launch;            // ps
    uint64_t l2_bytes;
    const Chip* chip;
    const Fit* fits;         // by fit_index
    uint32_t flight;         // in the place of Fit::flight, by memory's bandwidth and latency; 0: as that says
    const uint8_t* resident; // blocks an SM, by Kernel::index; 0: the chip lacks the kernel's instructions
};

// sms 0: as chips.inc says.
Target find_target(uint32_t capability, std::string_view device, uint32_t sms);
// Whether a kernel of these images has code for the target, or this build has none of it at all.
bool has_code(const Target& target, std::span<const Image> images);
// How many blocks of the kernel an SM of the target holds, at least 1.
uint32_t resident_blocks(const Target& target, const Kernel& kernel, std::span<const Image> images);

// What an SM needs for a block, in ticks: the same for every cut of a problem into blocks of the same steps.
struct Pace {
    int64_t work;    // of its units for a step
    int64_t own;     // the same but for L2
    int64_t alone;   // for a step of the only block, which waits for its own results
    int64_t fresh;   // the same where loads have come before
    uint32_t beside; // as in Fit
    uint32_t apart;  // as in Fit
    bool evens;      // where few SMs have a block more than others, it gets what these leave of L2
    uint32_t loaded; // bytes of a block that are under way
    int64_t start, end, late;
};
Pace find_pace(const Target& target, const Fit& fit, const Load& load);

// Never less than 0; INT64_MAX where it does not fit. More steps or bytes never cost less, nor do more blocks unless
// they keep memory busier (Fit::flight, a fuller last wave).
int64_t cost(const Target& target, const Fit& fit, uint32_t resident, const Pace& pace, const Load& load);
int64_t cost(const Target& target, const Fit& fit, uint32_t resident, const Load& load);

} // namespace spark

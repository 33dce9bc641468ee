// SPDX-License-Identifier: Apache-2.0
// Carries out one piece of work. Called by the scheduler without the state lock; one call at a time.
#pragma once

#include "emu/driver/state.h"

namespace emu::driver {

struct ExecuteSetting {
    DeviceMemory& memory;
    const DeviceProfile& profile;
    Options options; // a copy: the caller may reconfigure while a kernel runs
    CUresult sticky; // of the context: work behind a fatal report is dropped
};
bool touches_memory(const Work& work);
struct Outcome {
    CUresult code = CUDA_SUCCESS; // what the context's sticky error becomes
    std::string finding;          // the report behind it
    uint64_t instructions = 0;    // of warps, that ran
    Footprint footprint;          // with global_races
};
Outcome execute(const Work& work, const ExecuteSetting& setting);
// Two kernels, of which the second began first: `before` runs when all of it waits, else afterwards.
Outcome execute_overlapped(const Work& work, const Work& before, const ExecuteSetting& setting, Outcome& of_before);
void forget_block(uint64_t address); // a stream-ordered free has run; state lock held

} // namespace emu::driver

// SPDX-License-Identifier: Apache-2.0
// The engine's face: what the driver façade (emu/driver) needs of the rest of the emulator, and nothing more.
// Text comes in as PTX, kernels run over a Memory, and every finding comes back as a Report.
// Nothing here knows CUDA's API; nothing in emu/driver knows how an instruction works.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emu {

class Memory;  // emu/mem/memory.h: device allocations, their shadow, bounds
class Module;  // emu/ir/module.h: a parsed, verified, decoded PTX text
struct Kernel; // emu/ir/module.h: one .entry of a Module

struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
};

// A card. The façade answers device attributes from it; the engine takes its limits from it.
struct DeviceProfile {
    const char* key;  // "gb10"
    const char* name; // "NVIDIA GB10 (emulated)"
    int cc_major, cc_minor;
    uint32_t sm_count;
    uint32_t smem_optin;    // most dynamic shared memory one block may ask for
    uint32_t smem_per_sm;   // shared memory of one SM
    uint32_t smem_reserved; // taken by the system for each resident block
    uint32_t max_warps_per_sm;
    uint32_t max_ctas_per_sm;
    uint32_t regs_per_sm;
    uint32_t l2_bytes;
    uint64_t memory_bytes;
    uint32_t clock_khz;
    bool integrated;
};
constexpr uint32_t SMEM_UNIT = 128; // shared memory is given to a block in this unit
// How many blocks of so many threads and bytes of shared memory one multiprocessor takes, whatever their registers.
inline uint32_t blocks_per_sm(const DeviceProfile& card, uint32_t threads, uint64_t smem) {
    const uint64_t taken = (smem + card.smem_reserved + SMEM_UNIT - 1) / SMEM_UNIT * SMEM_UNIT;
    const uint64_t by_smem = taken ? card.smem_per_sm / taken : card.max_ctas_per_sm;
    return uint32_t(
        std::min({uint64_t(card.max_ctas_per_sm), uint64_t(card.max_warps_per_sm / ((threads + 31) / 32)), by_smem}));
}
// The most blocks of a cluster: on every card, and on this one if the kernel says that it may depend on it.
constexpr uint32_t PORTABLE_CLUSTER = 8;
inline uint32_t largest_cluster(const DeviceProfile& card) { return card.cc_major < 12 ? 16 : PORTABLE_CLUSTER; }
const DeviceProfile* find_profile(std::string_view key); // nullptr: no such profile
std::vector<const DeviceProfile*> all_profiles();

// How a run is scheduled and what is checked. Parsed from the text of LIBSPARK_EMU ("seed=7,sched=random").
enum class Schedule { round_robin, random, starve_low, starve_high };
enum class Merge { ipdom, late, random };       // where diverged lanes of a warp meet again
enum class AsyncTiming { late, early, random }; // when a cp.async lands
// What approximate functions give: what an H200 does, what is nearest, or off by a seeded part of the documented bound.
enum class Approx { card, nearest, fuzz };
// Bits below the largest term that sums of k64 FP4 keep: published models say both, and no card has been asked.
enum class Fp4Sum { bits35, bits25 };
struct Options {
    uint64_t seed = 0;
    Schedule schedule = Schedule::round_robin;
    Merge merge = Merge::ipdom;
    AsyncTiming async = AsyncTiming::late;
    bool late_reads = false; // ldmatrix and shared loads deliver when their registers are first used
    bool check_race = true;
    bool global_races = false; // in global memory too, if check_race; such a launch has one host thread
    bool check_undefined = true;
    bool check_bounds = true; // bounds, alignment, address space: always checked, whatever this says
    Approx approx = Approx::card;
    Fp4Sum fp4_sum = Fp4Sum::bits35;
    uint32_t threads = 0; // host threads that run CTAs; 0: one per core
    // A runaway kernel is reported and stopped. In instructions of warps; 0: no limit.
    uint64_t limit = 0;               // of the whole launch
    uint64_t warp_limit = 1000000000; // of each warp
};
// Returns an empty string, or a sentence that says which word is wrong and what is allowed.
std::string parse_options(std::string_view text, Options& out);

// One finding. `kind` is one of the words below; `text` is the whole message, several lines, with file:line.
//   bounds misaligned space undefined race barrier async tensormap smem-budget deadlock livelock trap limit divergence
struct Report {
    std::string kind;
    std::string kernel;
    std::string file;
    int line = 0; // source line of the instruction at fault (after line markers)
    std::string text;
    bool fatal = true; // the kernel was stopped there
};

// Exact and reproducible for a given kernel, input and launch (not for a given schedule: they do not depend on it,
// except for spin loops).
struct Counters {
    uint64_t warp_instructions = 0;
    uint64_t lane_instructions = 0; // active lanes summed
    uint64_t divergent_branches = 0;
    uint64_t mma = 0;
    uint64_t barrier_waits = 0;
    uint64_t global_requests = 0, global_sectors = 0; // 32-byte sectors touched, per warp request
    uint64_t global_read_bytes = 0, global_write_bytes = 0;
    uint64_t shared_requests = 0, shared_wavefronts = 0, shared_conflicts = 0; // conflicts: wavefronts beyond the least
    uint64_t async_bytes = 0;
    uint64_t atomics = 0;
    std::vector<std::pair<std::string, uint64_t>> by_opcode; // sorted by name
    void add(const Counters& other);
};

struct ParamInfo {
    std::string name;
    uint32_t offset, size, align;
};

struct KernelInfo {
    std::string name;
    std::vector<ParamInfo> params;
    uint32_t param_bytes = 0;
    uint32_t static_smem = 0;
    uint32_t max_threads = 1024;    // from .maxntid / .reqntid
    uint32_t declared_regs = 0;     // widest live set is not computed; number of 32-bit virtual registers
    Dim3 required_cluster{0, 0, 0}; // from .reqnctapercluster; 0: none
    uint32_t max_cluster = 0;       // from .maxclusterrank; 0: none
    bool explicit_cluster = false;  // .explicitcluster
};

struct LoadResult {
    std::shared_ptr<Module> module; // null: refused
    std::string log;                // why, with file and line; one finding per line
};
// An unknown instruction or modifier, a target the profile cannot run, a type error: refused here, never in a run.
// `memory` holds the module-scope variables and must outlive the module; without it a text that has some is refused.
LoadResult load_module(std::string_view ptx, const DeviceProfile& device, Memory* memory = nullptr);
std::vector<const Kernel*> kernels_of(const Module& module);
const KernelInfo& info_of(const Kernel& kernel);
// A module-scope .global/.const variable: its device address and size; false if there is none of that name.
bool global_of(const Module& module, std::string_view name, uint64_t& address, uint64_t& bytes);

struct LaunchRequest {
    const Kernel* kernel = nullptr;
    Dim3 grid, block;
    uint32_t dynamic_smem = 0;
    const void* params = nullptr; // packed as the kernel's .param list says
    size_t param_bytes = 0;
    Dim3 cluster;                  // blocks that see each other's shared memory; the grid's widths are multiples
    bool explicit_cluster = false; // somebody said how large it is
    bool cooperative = false;      // its blocks may meet at a barrier of the grid
    // What griddepcontrol.wait waits for: called when nothing else of the launch can go on; not called if nobody waits.
    // Empty: all of it has happened. A launch that has it has one host thread.
    std::function<void()> before;
};
// What a launch did to global memory, for whoever knows which launches are ordered. Bytes side by side that one
// instruction touched in one way are one entry.
struct Touch {
    uint64_t from = 0, end = 0;
    uint32_t place = 0;    // of Footprint::places
    bool strong = false;   // an atomic or volatile access and the like, of a scope beyond the block
    bool released = false; // its block released something afterwards
    bool acquired = false; // its block had acquired something before
};
struct Footprint {
    std::vector<Touch> writes, reads[2]; // each by address, without overlaps
    std::vector<std::string> places;     // "gemm.ptx:214"
    std::string replay;                  // the line with the words that make the run again
};
struct LaunchResult {
    std::vector<Report> reports; // empty: the run was clean
    Counters counters;
    Footprint footprint;   // with Options::global_races
    bool completed = true; // false: a fatal report stopped it
};
LaunchResult run(Memory& memory, const LaunchRequest& request, const DeviceProfile& device, const Options& options);

} // namespace emu

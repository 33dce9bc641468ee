// SPDX-License-Identifier: Apache-2.0
// The state that handlers work on: a warp's registers, its block's shared memory, and the hooks that checks listen to.
// Handlers state the meaning of an instruction and nothing else; a check is one pointer test when it is off.
// Knows nothing of PTX text and nothing of CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../ir/module.h"
#include "../mem/memory.h"
#include "mbarrier.h"

namespace emu {

struct Cta;
struct Launch;
class AsyncEngine; // exec/async.cpp: cp.async groups of one CTA
struct AsyncCopy;  // exec/async.h: one cp.async of a warp

constexpr uint32_t FULL = 0xffffffffu;
// Without a call, which a host may need whose instruction for it cannot be taken for granted.
inline uint32_t count_lanes(uint32_t mask) {
    mask -= mask >> 1 & 0x55555555u;
    mask = (mask & 0x33333333u) + (mask >> 2 & 0x33333333u);
    return ((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
// Generic addresses of spaces that are not global: above every host address, so that they never meet.
constexpr uint64_t SHARED_WINDOW = 1ull << 50;
constexpr uint64_t LOCAL_WINDOW = 1ull << 51;
constexpr uint64_t PARAM_WINDOW = 1ull << 52;
constexpr uint64_t WINDOW_BYTES = 1ull << 32;

// Lanes that were together and must be together again: those of a divergent branch, until its post-dominator.
struct Join {
    uint32_t pc = 0;
    uint32_t expected = 0; // live lanes that will come
    uint32_t arrived = 0;
    int32_t parent = -1;
};
// A set of lanes of one warp with one pc. Lanes that wait at a join are no fragment: the Join has them.
struct WarpSplit {
    enum State : uint8_t { ready, at_sync, at_barrier, at_cluster, at_grids } state = ready;
    uint32_t pc = 0;
    uint32_t mask = 0;
    int32_t join = -1;
    uint32_t barrier = 0; // at_barrier: which one
    bool operator==(const WarpSplit&) const = default;
};
// How a warp goes round its loops, to see that it does so for ever: registers, predicates, local memory and fragments
// that come again while memory stays as it is will come again until another thread changes memory (exec/waiting.cpp).
struct Loops {
    uint64_t changes = UINT64_MAX; // Cta::changes when counting began
    uint64_t count = 0;            // branches backwards since then
    uint64_t rounds = 0;           // branches backwards, whatever changed
    uint64_t keep_at = 0;          // the count at which the state is kept anew
    uint32_t pc = UINT32_MAX;      // the branch at which it was kept
    uint32_t lanes = 0;            // that came to it then: others of the warp may go round the same loop
    uint32_t ran = 0;              // lanes that came to a branch backwards since
    uint32_t laps = 0;             // how often that state came again in this turn of the block
    size_t differs = 0;            // the word of the state that differed last: looked at first
    std::vector<uint32_t> state;
    std::vector<uint8_t> local;
    std::vector<WarpSplit> frags;
};
// A shared load that waits for the first use of its registers (Options::late_reads).
struct PendingLoad {
    PendingLoad() {} // sets nothing
    uint32_t pc, mask;
    uint64_t writes;      // classes of its registers
    bool wide;            // the address register has 64 bits
    uint32_t address[64]; // what it held; one of 32 bits fills the first half
};

// 128 bits for each lane; narrower registers fill the low ones.
struct RegisterBits {
    uint64_t low[32], high[32];
};

// Lanes of a register whose undefined bits were all loaded from memory, as padding and neighbours of fields are.
struct Copied {
    uint32_t whole = 0;  // nothing of what was loaded was defined
    uint32_t moved = 0;  // what was loaded is here as it was
    uint32_t placed = 0; // the bits are in the places in which global memory holds them
    uint64_t from[32];   // placed: at this address
};

// Registers: slot s of lane l is regs[s * 32 + l]. 64-bit registers take two slots as uint64_t[32]; .b16 and .b8 are
// zero-extended in 32-bit slots (an f16 or bf16 is the low half). Predicates are one 32-bit mask each, number 0 is
// true.
struct alignas(64) Warp {
    uint32_t* regs = nullptr;
    uint32_t* preds = nullptr;
    uint32_t* undef = nullptr; // lanes whose value is undefined: [slot], then [kernel.slots + predicate]
    // lanes that execute the current instruction (guard applied); never 0 unless Flag::always
    uint32_t mask = 0;
    uint32_t tainted = 0;           // entries of undef that are not 0; 0: nobody looks at undef
    uint64_t tainted_among = 0;     // a bit for each number modulo 64: whether one of these entries is not 0
    uint16_t tainted_each[64] = {}; // how many are not
    std::unordered_map<uint16_t, RegisterBits> partly; // which bits are undefined, where not all are; by entry of undef
    std::unordered_map<uint16_t, Copied> copied;       // of undefined bits that were loaded; by the same
    uint32_t pc = 0;                                   // of the running instruction
    uint32_t live = 0;                                 // lanes that have not exited
    uint32_t existing = 0;                             // lanes that the block has
    uint32_t index = 0;                                // warp in block
    uint32_t agent = 0;                                // the same in the cluster: 32 numbers for each block
    Cta* own = nullptr;                                // its block
    Cta* cta = nullptr; // the block whose shared memory an instruction works on: its own, but inside AtBlock
    Launch* launch = nullptr;
    const Kernel* kernel = nullptr;
    uint32_t cluster_came = 0;   // lanes that arrived at the cluster's barrier and have not waited: of this phase,
    uint32_t cluster_passed = 0; // and of one that is complete
    uint8_t* local = nullptr;    // 32 x kernel.local_bytes
    uint8_t* local_undefined = nullptr; // the same places: bits that were never given a value
    std::vector<WarpSplit> frags;
    std::vector<Join> joins;
    int32_t current = -1; // running fragment
    uint32_t turn = 0;    // where the search for the next fragment starts
    Loops loops;
    std::vector<PendingLoad> pending;
    uint64_t pending_among = 0;  // a bit for each class of the registers that they will write
    uint64_t origin_address = 0; // the last load of bytes that nobody wrote, for the message of a later use
    uint32_t origin_pc = 0;
    Space origin_space = Space::global;
    bool has_origin = false;
    uint32_t carry = 0; // CC.CF of each lane: add.cc and its kin write it, addc and its kin read it
    bool finished() const { return live == 0; }
    uint64_t rng = 0;
    uint64_t executed = 0; // instructions

    template <class T> T* reg(uint16_t slot) const { return reinterpret_cast<T*>(regs + size_t(slot) * 32); }
    bool full() const { return mask == FULL; }
    // The loaded or computed value of these lanes of register `slot` is undefined, or defined, in all its bits. Called
    // by handlers of Taint::load/own.
    void set_undefined(uint16_t slot, uint32_t lanes);
    void set_defined(uint16_t slot, uint32_t lanes);
    const InstInfo& info() const { return kernel->infos[pc]; }
};

// A store keeps in Inst::target the bytes of its source registers, and its space above them.
inline uint32_t store_target(unsigned register_bytes, Space space) {
    return (register_bytes & 15) | uint32_t(space) << 4;
}
inline unsigned store_register_bytes(const Inst& in) { return in.target & 15; }

// Bytes of a bulk copy that move at an address in global memory.
struct BulkMove {
    uint32_t warp, lane, pc; // who issued it
    uint64_t global;
    uint32_t bytes;
    const uint8_t* stored; // what will be there; nullptr: a load, or a reduction
    bool reduces;
};

// Listeners: one object for each CTA that runs (made by a factory per launch), called on the thread that runs the CTA.
// Addresses are shared-memory addresses (SHARED_BASE upwards). mask: lanes that take part. A return of false stops the
// launch (after a report).
class Observer {
public:
    virtual ~Observer() = default;
    virtual void cta_begin(Cta&) {}
    virtual bool cta_end(Cta&) { return true; }
    // `bytes` contiguous bytes at addr[l] for each lane of mask: one call for one instruction, before it happens.
    virtual bool shared_read(Warp&, uint32_t mask, const uint32_t* addr, unsigned bytes) {
        (void)mask, (void)addr, (void)bytes;
        return true;
    }
    virtual bool shared_write(Warp&, uint32_t mask, const uint32_t* addr, unsigned bytes) {
        (void)mask, (void)addr, (void)bytes;
        return true;
    }
    virtual bool shared_atomic(Warp&, uint32_t mask, const uint32_t* addr, unsigned bytes) {
        (void)mask, (void)addr, (void)bytes;
        return true;
    }
    // Barriers. arrive: this warp's lanes came to barrier `id` (sync: and wait; else they only arrive).
    // release: the barrier completed; `sync_warps` go on from it, `arrive_warps` had only arrived (bit w = warp w).
    virtual bool barrier_arrive(Warp&, unsigned id, bool sync) {
        (void)id, (void)sync;
        return true;
    }
    virtual bool barrier_release(Cta&, unsigned id, uint32_t sync_warps, uint32_t arrive_warps) {
        (void)id, (void)sync_warps, (void)arrive_warps;
        return true;
    }
    virtual void warp_sync(Warp&, uint32_t lanes) { (void)lanes; }
    // cp.async: issue (a write of copy.bytes at copy.dst[l] that begins here), commit, and a wait that left `pending`
    // groups in flight.
    virtual bool async_issue(Warp&, AsyncCopy& copy) {
        (void)copy;
        return true;
    }
    virtual void async_commit(Warp&, uint32_t mask) { (void)mask; }
    virtual void async_wait(Warp&, uint32_t mask, unsigned pending) { (void)mask, (void)pending; }
    // Copies of these lanes landed: the wait that covers them has come, or (not waited) an mbarrier is told.
    virtual void async_land(Cta&, const AsyncCopy& copy, uint32_t lanes, bool waited) {
        (void)copy, (void)lanes, (void)waited;
    }
    // mbarriers at addr[l]: an instruction that makes them, after its shared_write; one that changes them; a test,
    // which found the phase complete for the lanes `passed`; a phase that is complete now.
    virtual void mbarrier_made(Warp&, uint32_t mask, const uint32_t* addr) { (void)mask, (void)addr; }
    virtual bool mbarrier_change(Warp&, uint32_t mask, const uint32_t* addr) {
        (void)mask, (void)addr;
        return true;
    }
    virtual bool mbarrier_test(Warp&, uint32_t mask, const uint32_t* addr, uint32_t passed) {
        (void)mask, (void)addr, (void)passed;
        return true;
    }
    virtual void mbarrier_complete(Cta&, uint32_t address) { (void)address; }
    // Bulk copies of one lane: a write of shared memory that begins, and has landed; a read of it.
    virtual bool bulk_write(Warp&, unsigned lane, uint32_t address, uint32_t bytes) {
        (void)lane, (void)address, (void)bytes;
        return true;
    }
    virtual bool bulk_read(Warp&, unsigned lane, uint32_t address, uint32_t bytes) {
        (void)lane, (void)address, (void)bytes;
        return true;
    }
    virtual void bulk_land(Cta&, uint32_t address, uint32_t bytes) { (void)address, (void)bytes; }
    // With races in global memory alone: told to the block that issued the copy, just before the bytes move.
    virtual void bulk_move(const BulkMove&) {}
    virtual void proxy_fence(Warp&, uint32_t mask) { (void)mask; } // between ordinary and bulk accesses
    virtual bool global_access(Warp&, uint32_t mask, const uint64_t* addr, unsigned bytes, bool write) {
        (void)mask, (void)addr, (void)bytes, (void)write;
        return true;
    }
    virtual void fence(Warp&, uint32_t mask) { (void)mask; }
    // The cluster's barrier: lanes arrive, its phase completes (told to one of the blocks), lanes go on from it.
    virtual void cluster_arrive(Warp&, uint32_t lanes, bool release) { (void)lanes, (void)release; }
    virtual void cluster_complete() {}
    virtual void cluster_pass(Warp&, uint32_t lanes) { (void)lanes; }
    virtual void lanes_exit(Warp&, uint32_t mask) { (void)mask; }
};
class GlobalRaces;                                                      // check/global_races.h
std::shared_ptr<GlobalRaces> make_global_races(const Options& options); // nullptr: not asked for
Footprint footprint_of(const Launch& launch);                           // of one that has them
// emu/check: nullptr if nothing is to be checked. `first`: what it gave for the first block of the same cluster.
Observer* make_checker(Launch& launch, Observer* first);

struct BarrierState {
    uint32_t arrived = 0;  // threads
    uint32_t rounded = 0;  // the same, each whole warp counted as 32
    uint32_t expected = 0; // threads, of whole warps
    uint32_t sync_warps = 0, arrive_warps = 0;
    bool all = false;                               // nobody gave a count: all live threads
    uint32_t red_and = 1, red_or = 0, red_popc = 0; // reductions so far
};

// How far apart the lanes of an access were, and what follows from that alone, wherever the first one is.
template <class Address> struct Pattern {
    uint32_t pc = UINT32_MAX, mask = 0, bytes = 0, shift = 0; // shift: of the first lane, as far as it matters
    Address apart[32];                                        // from the first lane; of lanes outside the mask 0
    std::make_signed_t<Address> lowest = 0, highest = 0;      // of them
    Address odd = 0;                                          // bits that some of them have
    bool run = false;                                         // all lanes, one after the other without a gap
    bool dense = false;                                       // at least half of the bytes between the ends are theirs
    bool near = false;                                        // the ends are not far apart
};
struct SharedPattern : Pattern<uint32_t> {
    uint32_t waves = 0, conflicts = 0;      // wavefronts; beyond the least for these lanes
    uint32_t place_from = 1, place_end = 0; // the variable in which it was last
    enum Meet : uint8_t { unknown, apart_all, some_meet } meet = unknown; // who asks remembers it here
    // The lanes' bytes in the bitmap of defined ones, where the first one's is at this bit of its word: `spots` words,
    // counted from that one. 0: not looked for.
    uint32_t spots = 0, spots_bit = 32;
    int32_t spot_word[32];
    uint32_t spot_bits[32];
};
struct GlobalPattern : Pattern<uint64_t> {
    uint32_t place = 0, sectors = 0; // where the first lane was in its sector, and how many there were then
    uint64_t first = 0;              // where lane 0 of the last wide load was
    bool fours = false;              // 64 bytes by four lanes each, which lie in them if the first lane's do
};

// The blocks that see each other's shared memory, by rank. A launch without clusters has clusters of one block.
struct Cluster {
    Dim3 id; // of the cluster in the grid
    std::vector<Cta*> blocks;
    uint32_t arrived = 0, live_threads = 0; // at its barrier; in all of its blocks
};

// One block. Shared memory is one array indexed by shared address; shared_defined has bit (a & 31) of word a >> 5.
struct Cta {
    Launch* launch = nullptr;
    const Kernel* kernel = nullptr;
    Dim3 id;
    uint64_t linear = 0;
    Cluster* cluster = nullptr;
    uint32_t rank = 0; // in the cluster
    uint8_t* shared = nullptr;
    uint32_t shared_end = 0;                 // after static and dynamic shared memory, red zones included
    const uint32_t* shared_inside = nullptr; // bits as below, 1 = of a variable; nullptr: all of it is of one
    uint32_t* shared_defined = nullptr;      // 1 = defined. A byte with a copy in flight is not defined.
    Warp* warps = nullptr;
    uint32_t nwarps = 0;
    uint32_t threads = 0; // that exist
    uint32_t live_threads = 0;
    BarrierState barriers[16];
    Mbarriers mbarriers;
    SharedPattern patterns[64]; // of the instructions that came last, by pc
    GlobalPattern global_patterns[64];
    uint64_t barrier_epoch = 0; // completed barriers of this block, for messages
    Observer* observer = nullptr;
    AsyncEngine* async = nullptr; // made by make_async at the first cp.async, or nullptr
    Counters* counters = nullptr; // of this host thread: only the scalar members are used while running
    uint64_t rng = 0;
    uint64_t executed = 0; // warp instructions of this block
    uint64_t changes = 0;  // of memory that others see by this block, and lanes and barriers that let somebody go on

    std::unordered_map<uint32_t, uint8_t>
        partly; // undefined bits of shared bytes that are not defined, where not all are

    uint8_t shared_undefined_bits(uint32_t a) const {
        if (shared_is_defined(a, 1)) return 0;
        const auto it = partly.find(a);
        return it == partly.end() ? 0xff : it->second;
    }
    // A store left these bits of a byte undefined, and the others defined.
    void store_shared_undefined(uint32_t a, uint8_t bits) {
        set_shared_defined(a, 1, false);
        if (bits != 0xff) partly[a] = bits;
    }
    // Of the access that was just placed.
    SharedPattern& pattern(const Warp& w) { return patterns[w.pc % std::size(patterns)]; }
    GlobalPattern& global_pattern(const Warp& w) { return global_patterns[w.pc % std::size(global_patterns)]; }
    // The bitmap's 64 bits from byte a on; copies and accesses of up to 32 bytes lie inside. The map has spare words.
    bool shared_is_defined(uint32_t a, unsigned bytes) const {
        uint64_t want = (bytes < 32 ? 1ull << bytes : 1ull << 32) - 1, have;
        __builtin_memcpy(&have, shared_defined + (a >> 5), 8);
        return ((have >> (a & 31)) & want) == want;
    }
    void set_shared_defined(uint32_t a, unsigned bytes, bool value) {
        if (!value && !partly.empty())
            for (unsigned i = 0; i < bytes; i++) partly.erase(a + i);
        uint64_t bits = ((bytes < 32 ? 1ull << bytes : 1ull << 32) - 1) << (a & 31), have;
        __builtin_memcpy(&have, shared_defined + (a >> 5), 8);
        have = value ? have | bits : have & ~bits;
        __builtin_memcpy(shared_defined + (a >> 5), &have, 8);
    }
};

// exec/async.cpp. The launch loop calls these; poison, in-flight bits and landing order are the engine's affair.
AsyncEngine* make_async(Cta& cta);
void destroy_async(AsyncEngine* engine);
void async_reset(AsyncEngine* engine);             // before a new block
bool async_cta_end(AsyncEngine* engine, Cta& cta); // copies that nobody waited for: drops them; false if it reported
// A test found the phase of this mbarrier incomplete: lands what it waits for, if its time has come.
bool async_deliver(AsyncEngine* engine, uint32_t mbarrier);
// The landing that Options::async == random may do between instructions (called at each warp switch).
void async_tick(AsyncEngine* engine, Cta& cta);
// "copy of 16 bytes issued at gemm.ptx:120 by warp 3 lane 4, still in flight", or empty if none covers the address.
std::string async_describe(const AsyncEngine* engine, uint32_t shared_address);

// Makes a report about the current instruction of this warp; returns Flow::failed. `lane` < 0: the whole warp.
// `what` is the first sentence; file:line, kernel, cta, warp, lane and seed are added.
Flow report(Warp& warp, const char* kind, int lane, const std::string& what);
// The same for one shared or global access; adds the address and the allocation nearest to it.
Flow report_access(Warp& warp, const char* kind, int lane, Space space, uint64_t address, unsigned bytes, bool write,
                   const std::string& what);
std::string where(const Kernel& kernel, uint32_t pc); // "gemm.ptx:214"
// Remembers a load of bytes that nobody wrote, for the message of the use that will be reported.
void note_undefined(Warp& w, Space space, uint64_t address);
// A report with a text of the checker's own (race: two places). The header "spark-emu: kind in kernel, cta (..)" is
// added.
void report_raw(Cta& cta, const char* kind, uint32_t pc, const std::string& body);

// What one launch shares between its host threads.
struct Launch {
    Memory* memory = nullptr;
    const Kernel* kernel = nullptr;
    const DeviceProfile* device = nullptr;
    Options options;
    Dim3 grid, block, cluster;
    bool explicit_cluster = false;
    uint32_t dynamic_smem = 0;
    const uint8_t* params = nullptr;
    uint64_t rng_seed = 0;
    uint64_t grid_barrier = 0; // the device address of a cooperative launch's barrier; 0: none
    struct State;              // exec/launch.cpp: mutex, reports, stop flag
    State* state = nullptr;
    std::shared_ptr<GlobalRaces> races;
    std::function<void()> before; // LaunchRequest's, until it was called
    // While one host thread alone runs the launch, though more may: warp instructions until they are called.
    uint64_t alone = 0;
    std::function<void()> call_others;
    void ran_alone(uint64_t instructions) {
        alone -= instructions < alone ? instructions : alone;
        if (!alone) std::exchange(call_others, nullptr)();
    }
};

} // namespace emu

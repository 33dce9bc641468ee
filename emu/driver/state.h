// SPDX-License-Identifier: Apache-2.0
// The façade's objects and the one lock that covers them all. Every API function takes the lock on entry (see call.h);
// the scheduler gives it up while an operation executes, so other threads can go on submitting.
// Knows the engine only through engine.h and device_memory.h.
//
//   State ── device profile, options, memory
//     ├─ Context ── sticky error, streams, limits, legacy stream, one per-thread stream for each host thread
//     │     └─ Stream ── last op, capture it belongs to
//     ├─ Module / Library ── Image (text, engine's module) ── Function (function or kernel handle)
//     ├─ Event ── last op that recorded it, or the capture nodes it stands for
//     └─ Graph ── Node...      GraphExec ── frozen copy of a graph
#pragma once

#include "emu/driver/device_memory.h"
#include "emu/driver/handles.h"
#include "emu/driver/work.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace emu::driver {

using Lock = std::unique_lock<std::mutex>;

struct Capture;
struct Graph;
struct Node;

constexpr int LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5; // smaller numbers are more urgent

struct Stream {
    std::weak_ptr<Context> context;
    CUstream handle = nullptr;
    uint64_t id = 0;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false;
    std::shared_ptr<Op> last;
    std::shared_ptr<Capture> capture;        // null: not capturing
    std::vector<std::shared_ptr<Node>> tips; // nodes that the next captured node depends on
};

struct Context {
    CUcontext handle = nullptr;
    bool primary = false;
    bool destroyed = false;
    unsigned flags = 0;
    uint64_t id = 0;
    CUresult sticky = CUDA_SUCCESS;
    std::string finding; // the report behind it
    std::shared_ptr<Stream> legacy;
    std::map<uint64_t, std::shared_ptr<Stream>> per_thread; // by host thread number
    std::vector<std::weak_ptr<Stream>> streams;             // all, the two kinds above included
    size_t limits[7] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    uint64_t pending = 0; // ops submitted and not done
};

struct Image { // what a module and a library have in common
    std::shared_ptr<emu::Module> module;
    std::vector<std::shared_ptr<Function>> functions; // in the order of the text
    int ptx_version = 0;                              // 88 for .version 8.8
};

struct LoadedModule {
    std::shared_ptr<Image> image;
    std::weak_ptr<Context> context;
    std::map<std::string, CUfunction> handles; // those given out
};

struct Library {
    std::shared_ptr<Image> image;
    std::vector<CUkernel> kernels; // in the order of the text
};

struct FunctionAttributes {
    int max_dynamic_smem = 0; // set from the image
    int carveout = -1;
    int nonportable_cluster = 0;
    int required_cluster[3] = {0, 0, 0}; // set at run time; 0: not
    int cluster_policy = 0;
};

struct Function {
    std::shared_ptr<emu::Module> module; // keeps the code alive while work is queued
    const emu::Kernel* kernel = nullptr;
    const KernelInfo* info = nullptr;
    int ptx_version = 0;
    std::shared_ptr<FunctionAttributes> attributes; // shared by all handles of one kernel
    std::weak_ptr<Context> context;                 // a CUfunction's; a CUkernel has none
    bool is_kernel = false;
    CUmodule module_handle = nullptr;
    CUlibrary library_handle = nullptr;
    CUfunction function_handle = nullptr; // of a kernel: what cuKernelGetFunction gave
};

struct Event {
    std::weak_ptr<Context> context;
    unsigned flags = 0;
    std::shared_ptr<Op> last;                // null: never recorded (complete by definition)
    std::shared_ptr<Capture> capture;        // last recorded inside this capture
    std::vector<std::shared_ptr<Node>> tips; // the nodes it stands for there
};

struct Pool {
    bool is_default = false;
    uint64_t release_threshold = 0;
    uint64_t used = 0, used_high = 0;
    int reuse[4] = {0, 1, 1, 1};
};

struct Block { // what the API knows of one allocation
    enum class Kind { device, pooled, host, managed, module } kind = Kind::device;
    size_t bytes = 0;
    unsigned flags = 0;
    uint64_t id = 0;
    std::weak_ptr<Context> context;
    std::shared_ptr<Pool> pool;
};

struct State {
    std::mutex mutex;
    std::condition_variable changed; // an op finished, or the executor stepped down
    bool initialised = false;
    CUresult fault = CUDA_SUCCESS; // the first sticky error of any context: no new one can be made, as on a card
    std::string finding;           // the report behind it
    const DeviceProfile* profile = nullptr;
    DeviceProfile card{}; // what profile points to, where words chose it
    Options options;
    bool clock_counts = false;      // events: what ran, not what the host's clock says
    Clock::duration counted_time{}; // so far
    DeviceMemory memory;
    LaunchRaces races;
    std::map<uint64_t, Block> blocks; // by start address

    std::shared_ptr<Context> primary;
    uint32_t primary_retained = 0;
    unsigned primary_flags = 0;
    HandleTable<CUcontext, Context> contexts;
    HandleTable<CUstream, Stream> streams;
    HandleTable<CUevent, Event> events;
    HandleTable<CUmodule, LoadedModule> modules;
    HandleTable<CUlibrary, Library> libraries;
    HandleTable<CUfunction, Function> functions; // function handles and kernel handles alike
    HandleTable<CUgraph, Graph> graphs;
    HandleTable<CUgraphNode, Node> nodes;
    HandleTable<CUgraphExec, GraphExec> execs;
    HandleTable<CUmemoryPool, Pool> pools;
    CUmemoryPool default_pool = nullptr, current_pool = nullptr;
    std::vector<std::weak_ptr<Capture>> captures; // active ones, for the rules that look across threads
};
State& state(); // never destroyed: host threads may still be in a call at exit

// What belongs to one host thread.
struct ThreadState {
    uint64_t number = 0;             // 1, 2, ...: also picks the per-thread default stream
    std::vector<CUcontext> contexts; // the stack of current contexts
    CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    bool per_thread_default = false;    // inside a *_ptsz or *_ptds call: stream 0 is the per-thread stream
    bool in_callback = false;           // inside a host function run by the scheduler
    std::shared_ptr<const Names> names; // of memory that its launches use; null: none were said
};
ThreadState& this_thread();

CUresult current_sticky();                  // of the current context; without one CUDA_SUCCESS
std::shared_ptr<Context> current_context(); // null: none, or destroyed
std::shared_ptr<Context> make_context(State& s, unsigned flags, bool primary);
// Waits for the context's work, then forgets its objects and its sticky error; the handle stays valid if asked.
void discard_context(Lock& lock, const std::shared_ptr<Context>& context, bool keep_handle);
CUresult resolve_stream(CUstream handle, std::shared_ptr<Stream>& out);
const Block* find_block(uint64_t address, uint64_t* start = nullptr); // the one that holds this byte

} // namespace emu::driver

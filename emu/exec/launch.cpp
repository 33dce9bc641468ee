// SPDX-License-Identifier: Apache-2.0
// run(): checks the launch against kernel and device, spreads the blocks over host threads, gathers reports and
// counters.
// A block that runs long (it may wait for another one) is set aside and takes turns with the next ones.
#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "../engine_limits.h"
#include "../report/report.h"
#include "block.h"

namespace emu {

void Counters::add(const Counters& o) {
    warp_instructions += o.warp_instructions;
    lane_instructions += o.lane_instructions;
    divergent_branches += o.divergent_branches;
    mma += o.mma;
    barrier_waits += o.barrier_waits;
    global_requests += o.global_requests;
    global_sectors += o.global_sectors;
    global_read_bytes += o.global_read_bytes;
    global_write_bytes += o.global_write_bytes;
    shared_requests += o.shared_requests;
    shared_wavefronts += o.shared_wavefronts;
    shared_conflicts += o.shared_conflicts;
    async_bytes += o.async_bytes;
    atomics += o.atomics;
    std::map<std::string, uint64_t> names(by_opcode.begin(), by_opcode.end());
    for (auto& [name, n] : o.by_opcode) names[name] += n;
    by_opcode.assign(names.begin(), names.end());
}

namespace {
Report refusal(const Kernel& kernel, const char* kind, const std::string& what) {
    Report r;
    r.kind = kind;
    r.kernel = kernel.info.name;
    r.text = std::string("spark-emu: ") + kind + " in " + kernel.info.name + "\n  " + what + "\n";
    return r;
}

// What is wrong with the launch itself, or nothing.
std::string launch_problem(const LaunchRequest& q, const DeviceProfile& device, const char*& kind) {
    const Kernel& k = *q.kernel;
    kind = "limit";
    for (uint32_t width : {q.block.x, q.block.y, q.block.z})
        if (width > limits::BLOCK_THREADS)
            return "the block is " + std::to_string(width) + " threads wide; " + std::to_string(limits::BLOCK_THREADS) +
                   " is the most";
    if (q.grid.x > INT32_MAX || q.grid.y > UINT16_MAX || q.grid.z > UINT16_MAX)
        return "the grid is " + std::to_string(q.grid.x) + " x " + std::to_string(q.grid.y) + " x " +
               std::to_string(q.grid.z) + " blocks; 2147483647 x 65535 x 65535 is the most";
    uint64_t threads = uint64_t(q.block.x) * q.block.y * q.block.z;
    if (!threads || !q.grid.x || !q.grid.y || !q.grid.z) return "a dimension of the grid or the block is 0";
    if (threads > 1024) return "the block has " + std::to_string(threads) + " threads; 1024 is the most";
    if (threads > k.info.max_threads)
        return "the block has " + std::to_string(threads) + " threads; .maxntid allows " +
               std::to_string(k.info.max_threads);
    if (k.req_threads && threads != k.req_threads)
        return "the block has " + std::to_string(threads) + " threads; .reqntid asks for " +
               std::to_string(k.req_threads);
    if (q.param_bytes != k.info.param_bytes)
        return std::to_string(q.param_bytes) + " bytes of parameters were given; the kernel takes " +
               std::to_string(k.info.param_bytes);
    kind = "smem-budget";
    uint64_t smem = uint64_t(k.static_smem) + q.dynamic_smem;
    if (smem > device.smem_optin)
        return "the block asks for " + std::to_string(smem) + " bytes of shared memory; " + device.key +
               " gives at most " + std::to_string(device.smem_optin);
    return {};
}

Block& longest(const std::vector<std::unique_ptr<Block>>& running) {
    auto shorter = [](const auto& a, const auto& b) { return a->cta.executed < b->cta.executed; };
    return **std::max_element(running.begin(), running.end(), shorter);
}

// One host thread: takes blocks until none is left, keeping long ones aside.
void work(Launch& launch, uint64_t blocks, size_t resident, Counters& counters) {
    std::vector<std::unique_ptr<Block>> running; // [0] is the one to go on with
    Launch::State& state = *launch.state;
    size_t turn = 0;
    bool more = true;
    std::vector<std::unique_ptr<Block>> idle;
    while (!state.stop.load(std::memory_order_relaxed)) {
        bool start = more && running.size() < resident && (running.empty() || turn == 0);
        if (start) {
            uint64_t next = state.next_block.fetch_add(1);
            more = next < blocks;
            if (more) {
                if (idle.empty()) idle.push_back(std::make_unique<Block>(launch));
                idle.back()->begin(next);
                running.push_back(std::move(idle.back()));
                idle.pop_back();
                turn = running.size() - 1;
            }
        }
        if (running.empty()) break;
        turn %= running.size();
        Block& block = *running[turn];
        const uint64_t before = block.cta.executed;
        Allowance::Turn allowed(state.allowance);
        const Stop stop = block.run(allowed.length());
        const bool spent = allowed.end(block.cta.executed - before);
        if (stop == Stop::failed) break;
        if (stop != Stop::finished && spent && !state.stop.exchange(true)) longest(running).report_launch_limit();
        if (stop == Stop::finished) {
            idle.push_back(std::move(running[turn]));
            running.erase(running.begin() + long(turn));
            turn = 0;
        } else {
            turn = (turn + 1) % running.size();
        }
    }
    for (auto& b : running) b->add_to(counters);
    for (auto& b : idle) b->add_to(counters);
}

// The same, for a thread that nobody else watches.
void work_or_stop(Launch& launch, uint64_t blocks, size_t resident, Counters& counters) {
    try {
        work(launch, blocks, resident, counters);
    } catch (const std::bad_alloc&) {
        Launch::State& state = *launch.state;
        std::lock_guard<std::mutex> lock(state.mutex);
        state.stop = true;
        state.reports.push_back(refusal(*launch.kernel, "limit", "the host has no memory left for its blocks"));
    }
}

// Blocks on as many host threads as can be had, this one included.
void work_together(Launch& launch, uint64_t blocks, uint64_t threads, size_t resident, Counters& total) {
    std::vector<Counters> counters(threads);
    std::vector<std::thread> pool;
    pool.reserve(threads);
    try {
        while (pool.size() + 1 < threads)
            pool.emplace_back([&, t = pool.size() + 1] { work_or_stop(launch, blocks, resident, counters[t]); });
    } catch (const std::system_error&) {
        // the system gives no more threads: those that there are take all blocks
    }
    work_or_stop(launch, blocks, resident, counters[0]);
    for (std::thread& t : pool) t.join();
    for (const Counters& c : counters) total.add(c);
}
} // namespace

LaunchResult run(Memory& memory, const LaunchRequest& request, const DeviceProfile& device, const Options& options) {
    LaunchResult result;
    const char* kind = "limit";
    std::string problem = launch_problem(request, device, kind);
    if (!problem.empty()) {
        result.reports.push_back(refusal(*request.kernel, kind, problem));
        result.completed = false;
        return result;
    }
    Launch::State state;
    Launch launch;
    launch.memory = &memory;
    launch.kernel = request.kernel;
    launch.device = &device;
    launch.options = options;
    launch.grid = request.grid;
    launch.block = request.block;
    launch.dynamic_smem = request.dynamic_smem;
    launch.params = static_cast<const uint8_t*>(request.params);
    launch.rng_seed = options.seed;
    launch.state = &state;
    uint64_t blocks = uint64_t(request.grid.x) * request.grid.y * request.grid.z;
    uint64_t threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    const uint64_t room = limits::LAUNCH_BYTES / Block::bytes(launch); // blocks whose state the host is asked to hold
    if (room == 0) {
        problem = "a block's registers and memory take " + std::to_string(Block::bytes(launch)) + " bytes; " +
                  std::to_string(limits::LAUNCH_BYTES) + " is the most";
        result.reports.push_back(refusal(*request.kernel, "limit", problem));
        result.completed = false;
        return result;
    }
    threads = std::min({threads, blocks, room});
    state.allowance.open(options.limit, threads);
    const uint64_t at_once = std::min(uint64_t(device.sm_count) * 2, room);
    work_together(launch, blocks, threads, size_t(std::max<uint64_t>(1, at_once / threads)), result.counters);
    result.reports = std::move(state.reports);
    result.completed = result.reports.empty();
    return result;
}

} // namespace emu

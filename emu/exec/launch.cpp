// SPDX-License-Identifier: Apache-2.0
// run(): checks the launch against kernel and device, spreads the clusters over host threads, gathers reports and
// counters. Where there are none, each block is a cluster. One that runs long (it may wait for another one) is set
// aside and takes turns with the next ones.
#include <algorithm>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "../engine_limits.h"
#include "../report/report.h"
#include "cluster.h"
#include "helpers.h"

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
    size_t at = 0; // of what is sorted, as that is
    for (const auto& [name, n] : o.by_opcode) {
        while (at < by_opcode.size() && by_opcode[at].first < name) ++at;
        const bool known = at < by_opcode.size() && by_opcode[at].first == name;
        if (known) by_opcode[at].second += n;
        else by_opcode.emplace(by_opcode.begin() + ptrdiff_t(at), name, n);
    }
}

namespace {
Report refusal(const Kernel& kernel, const char* kind, const std::string& what) {
    Report r;
    r.kind = kind;
    r.kernel = kernel.info.name;
    r.text = std::string("spark-emu: ") + kind + " in " + kernel.info.name + "\n  " + what + "\n";
    return r;
}

uint64_t product(const Dim3& d) { return uint64_t(d.x) * d.y * d.z; }

std::string cluster_problem(const LaunchRequest& q, const DeviceProfile& device) {
    const KernelInfo& info = q.kernel->info;
    const Dim3 &c = q.cluster, &need = info.required_cluster;
    const uint64_t blocks = product(c);
    const std::string found = "the cluster has " + std::to_string(c.x) + " x " + std::to_string(c.y) + " x " +
                              std::to_string(c.z) + " blocks; ";
    const uint32_t most =
        info.max_cluster ? std::min(info.max_cluster, largest_cluster(device)) : largest_cluster(device);
    if (std::max({c.x, c.y, c.z}) > most || blocks > most) return found + std::to_string(most) + " is the most";
    if (!blocks || q.grid.x % c.x || q.grid.y % c.y || q.grid.z % c.z) return found + "the grid is no multiple of it";
    if (need.x && (c.x != need.x || c.y != need.y || c.z != need.z))
        return found + ".reqnctapercluster asks for others";
    return info.explicit_cluster && !q.explicit_cluster ? ".explicitcluster, and the launch says no cluster" : "";
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
    const uint64_t threads = product(q.block);
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
    if (std::string problem = cluster_problem(q, device); !problem.empty()) return problem;
    kind = "smem-budget";
    uint64_t smem = uint64_t(k.static_smem) + q.dynamic_smem;
    if (smem > device.smem_optin)
        return "the block asks for " + std::to_string(smem) + " bytes of shared memory; " + device.key +
               " gives at most " + std::to_string(device.smem_optin);
    return {};
}

// How many blocks the card would run together, whole clusters of them, but for their registers, which only its compiler
// knows.
uint64_t most_resident(const LaunchRequest& q, const DeviceProfile& device) {
    const uint64_t smem = uint64_t(q.kernel->static_smem) + q.dynamic_smem;
    const uint64_t blocks =
        device.sm_count * uint64_t(std::max(1u, blocks_per_sm(device, uint32_t(product(q.block)), smem)));
    return std::max<uint64_t>(1, blocks / product(q.cluster)) * product(q.cluster);
}

ClusterRun& longest(const std::vector<std::unique_ptr<ClusterRun>>& running) {
    auto shorter = [](const auto& a, const auto& b) { return a->executed() < b->executed(); };
    return **std::max_element(running.begin(), running.end(), shorter);
}

// The clusters of one host thread, in turns: one that runs long, or waits for others, is set aside and goes on later.
class Worker {
public:
    Worker(Launch& launch, uint64_t clusters)
        : launch_(launch), clusters_(clusters), blocks_(int64_t(product(launch.cluster))) {}
    ~Worker() { launch_.state->idle.thread_ends(); }
    void work() {
        while (!launch_.state->stop.load(std::memory_order_relaxed)) {
            if (may_start()) start();
            if (running_.empty()) break;
            turn_ %= running_.size();
            if (waiting_ == 0) since_ = launch_.state->idle.moment();
            if (!run_one(*running_[turn_])) break;
            if (waiting_ < running_.size() || may_start()) continue;
            if (launch_.state->idle.for_ever(since_)) stuck();
            waiting_ = 0; // all once more
        }
    }
    void add_to(Counters& counters) const {
        for (auto& c : running_) c->add_to(counters);
        for (auto& c : idle_) c->add_to(counters);
    }

private:
    // Those that only run long get company at the end of a round, and not without end; those that wait, at once.
    bool may_start() const {
        if (!more_ || launch_.state->places.load(std::memory_order_relaxed) < blocks_) return false;
        return waiting_ >= running_.size() || (turn_ == 0 && running_.size() < MANY);
    }
    void start() {
        Launch::State& state = *launch_.state;
        if (state.places.fetch_sub(blocks_) < blocks_) {
            state.places.fetch_add(blocks_);
            return;
        }
        const uint64_t next = state.next_cluster.fetch_add(1);
        more_ = next < clusters_;
        if (!more_) return;
        if (idle_.empty()) idle_.push_back(std::make_unique<ClusterRun>(launch_));
        idle_.back()->begin(next);
        running_.push_back(std::move(idle_.back()));
        idle_.pop_back();
        turn_ = running_.size() - 1;
    }
    bool run_one(ClusterRun& cluster) { // false after a report
        Launch::State& state = *launch_.state;
        const uint64_t before = cluster.executed(), changes = cluster.changes();
        Allowance::Turn allowed(state.allowance);
        const Stop stop = cluster.run(allowed.length());
        const bool spent = allowed.end(cluster.executed() - before);
        const bool changed = cluster.changes() != changes;
        if (stop == Stop::finished) state.places.fetch_add(blocks_);
        if (changed) state.idle.change();
        if (stop == Stop::failed) return false;
        if (stop != Stop::finished && spent && !state.stop.exchange(true)) longest(running_).report_launch_limit();
        waiting_ = changed ? 0 : waiting_;
        if (stop == Stop::finished) {
            idle_.push_back(std::move(running_[turn_]));
            running_.erase(running_.begin() + long(turn_));
            turn_ = 0;
        } else {
            waiting_ = stop == Stop::waiting && !changed ? waiting_ + 1 : 0;
            turn_ = (turn_ + 1) % running_.size();
        }
        return true;
    }
    // No cluster that runs will ever go on, unless they wait for other launches.
    void stuck() {
        Launch::State& state = *launch_.state;
        if (launch_.before) return std::exchange(launch_.before, nullptr)();
        if (state.stop.exchange(true)) return;
        const uint64_t started = std::min(state.next_cluster.load(), clusters_);
        if (started == clusters_)
            running_.front()->report_waiting("livelock", "every warp that can run goes round a loop, and nothing will "
                                                         "change what it waits for");
        else
            running_.front()->report_waiting("deadlock", std::to_string((clusters_ - started) * uint64_t(blocks_)) +
                                                             " blocks of the grid never start: " +
                                                             std::to_string(running_.size() * size_t(blocks_)) +
                                                             " run together here, and all of them wait");
    }

    static constexpr size_t MANY = 64;
    Launch& launch_;
    const uint64_t clusters_;
    const int64_t blocks_; // of a cluster
    std::vector<std::unique_ptr<ClusterRun>> running_, idle_;
    size_t turn_ = 0, waiting_ = 0; // waiting_: turns without a change in which a cluster was seen to wait
    uint64_t since_ = 0;            // the moment of memory before the first of them
    bool more_ = true;
};

// The same, for a thread that nobody else watches.
void work_or_stop(Launch& launch, uint64_t clusters, Counters& counters) {
    try {
        Worker worker(launch, clusters);
        worker.work();
        worker.add_to(counters);
    } catch (const std::bad_alloc&) {
        Launch::State& state = *launch.state;
        std::lock_guard<std::mutex> lock(state.mutex);
        state.stop = true;
        state.reports.push_back(refusal(*launch.kernel, "limit", "the host has no memory left for its blocks"));
    }
}

// Clusters on as many host threads as can be had, this one included. The others are called at once if so many were
// asked for, or by the kernel's last launch this one will be long; else once it is seen to be: for a short one, what
// they keep of their blocks would take longer to make than it takes to run.
void work_together(Launch& launch, uint64_t clusters, uint64_t threads, Counters& total) {
    constexpr uint64_t LONG = 20000; // warp instructions
    std::atomic<uint64_t>& lately = launch.kernel->of_cluster_lately;
    std::vector<Counters> counters(threads);
    {
        Helpers helpers;
        const auto call_others = [&] {
            if (launch.state->next_cluster.load() >= clusters) return;
            try {
                while (helpers.count() + 1 < threads) {
                    launch.state->idle.thread_begins();
                    helpers.call([&, t = helpers.count() + 1] { work_or_stop(launch, clusters, counters[t]); });
                }
            } catch (const std::system_error&) { // no more threads: those that there are take all clusters
                launch.state->idle.thread_ends();
            }
        };
        if (launch.options.threads || lately.load(std::memory_order_relaxed) >= LONG / clusters) {
            call_others();
        } else if (threads > 1) {
            launch.alone = LONG;
            launch.call_others = call_others;
        }
        work_or_stop(launch, clusters, counters[0]);
    }
    for (const Counters& c : counters) total.add(c);
    lately.store(total.warp_instructions / clusters, std::memory_order_relaxed);
}

// The words in which the blocks of a cooperative launch count each other: the driver gives them, zeroed.
class GridBarrier {
public:
    GridBarrier(Launch& launch, bool wanted) : launch_(launch) {
        constexpr uint64_t BYTES = 64;
        if (!wanted) return;
        launch_.grid_barrier = launch_.memory->alloc(BYTES);
        if (launch_.grid_barrier) launch_.memory->fill(launch_.grid_barrier, "", 1, BYTES);
    }
    ~GridBarrier() {
        if (launch_.grid_barrier) launch_.memory->free(launch_.grid_barrier);
    }
    GridBarrier(const GridBarrier&) = delete;
    GridBarrier& operator=(const GridBarrier&) = delete;

private:
    Launch& launch_;
};
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
    launch.cluster = request.cluster;
    launch.explicit_cluster = request.explicit_cluster;
    launch.dynamic_smem = request.dynamic_smem;
    launch.params = static_cast<const uint8_t*>(request.params);
    launch.rng_seed = options.seed;
    launch.state = &state;
    launch.races = make_global_races(options);
    launch.before = request.before;
    const uint64_t of_cluster = product(request.cluster), clusters = product(request.grid) / of_cluster;
    uint64_t threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    // clusters whose state the host is asked to hold
    const uint64_t room = limits::LAUNCH_BYTES / (Block::bytes(launch) * of_cluster);
    if (room == 0) {
        problem = (of_cluster > 1 ? "a cluster's" : "a block's") + std::string(" registers and memory take ") +
                  std::to_string(Block::bytes(launch) * of_cluster) + " bytes; " +
                  std::to_string(limits::LAUNCH_BYTES) + " is the most";
        result.reports.push_back(refusal(*request.kernel, "limit", problem));
        result.completed = false;
        return result;
    }
    state.places = int64_t(std::min(most_resident(request, device), room * of_cluster));
    const bool alone = launch.races || request.before || request.kernel->uses_heap;
    threads = std::min({alone ? 1 : threads, clusters, uint64_t(state.places) / of_cluster});
    const GridBarrier barrier(launch, request.cooperative);
    state.allowance.open(options.limit, threads);
    work_together(launch, clusters, threads, result.counters);
    result.reports = std::move(state.reports);
    result.completed = result.reports.empty();
    if (launch.races) result.footprint = footprint_of(launch);
    return result;
}

} // namespace emu

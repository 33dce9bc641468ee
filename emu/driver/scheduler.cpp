// SPDX-License-Identifier: Apache-2.0
// Order of execution: see scheduler.h. What executing means for each kind of work is in execute.cpp.
#include "emu/driver/scheduler.h"

#include "emu/driver/capture.h"
#include "emu/driver/execute.h"
#include "emu/driver/report.h"

namespace emu::driver {
namespace {

constexpr size_t MOST_DEFERRED = 1024; // ready ops; beyond this, submitting runs one

struct Queue {
    std::map<uint64_t, std::shared_ptr<Op>> ready; // by order of submission
    uint64_t next_sequence = 1;
    uint64_t random = 0;
    bool executing = false;
    bool in_memory = false; // the executing op may touch device memory
};
Queue& queue() {
    static Queue* instance = new Queue; // see state(): never destroyed
    return *instance;
}

bool eager() { return state().options.schedule == Schedule::round_robin; }

uint64_t draw() { // splitmix64
    uint64_t z = queue().random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

std::shared_ptr<Op> take_ready() {
    Queue& q = queue();
    auto it = q.ready.begin();
    if (state().options.schedule == Schedule::random) std::advance(it, draw() % q.ready.size());
    else if (state().options.schedule == Schedule::starve_low) it = std::prev(q.ready.end());
    std::shared_ptr<Op> op = it->second;
    q.ready.erase(it);
    return op;
}

// What an op takes where times are counted: a microsecond, and about what this emulator takes for each instruction of
// a warp.
Clock::duration counted_time_of(const Outcome& outcome) {
    return std::chrono::microseconds(1) + outcome.instructions * std::chrono::nanoseconds(40);
}

void finish(const std::shared_ptr<Op>& op) {
    const State& s = state();
    op->done = true;
    op->finished = s.clock_counts ? Clock::time_point(s.counted_time) : Clock::now();
    op->work = NoWork{};
    op->context->pending--;
    op->context.reset();
    for (const std::shared_ptr<Op>& next : op->dependents)
        if (--next->unmet == 0) queue().ready.emplace(next->sequence, next);
    op->dependents.clear();
}

// The launch that begins before `op`, a kernel, ends; null: none. What it does before griddepcontrol.wait then comes
// before all that `op` does: as early as it may come on a card, and earlier. Not where ops run when they are submitted.
std::shared_ptr<Op> begun_with(const Op& op) {
    if (eager()) return nullptr;
    for (const std::shared_ptr<Op>& next : op.dependents) {
        if (next->overlaps != &op || next->unmet != 1 || next->context != op.context) continue;
        return state().options.schedule == Schedule::random && draw() % 2 ? nullptr : next;
    }
    return nullptr;
}

bool finds_races() { return state().options.check_race && state().options.global_races; }

// What the op touched, held against what others did that are not ordered with it.
void find_race(const Op& op, Outcome& outcome) {
    if (!finds_races() || outcome.code != CUDA_SUCCESS || !touches_memory(op.work)) return;
    const auto* kernel = std::get_if<KernelWork>(&op.work);
    const std::string name = kernel                                      ? kernel->function->info->name
                             : std::holds_alternative<CopyWork>(op.work) ? "a copy"
                                                                         : "a memset";
    const LaunchRaces::Race race = state().races.done(op.order, name, std::move(outcome.footprint));
    if (race.sides.empty()) return;
    char address[64];
    snprintf(address, sizeof address, "  global 0x%llx, ", static_cast<unsigned long long>(race.address));
    std::string text = "spark-emu: race between launches, in " + name + "\n" + race.sides + address +
                       state().memory.describe(race.address) +
                       "\n  no stream, event, edge of a graph or wait of the host orders the two\n" + race.replay;
    Report report;
    report.kind = "race";
    report.kernel = name;
    report.text = kernel && kernel->names ? with_names(std::move(text), *kernel->names) : std::move(text);
    outcome.code = CUDA_ERROR_LAUNCH_FAILED;
    outcome.finding = report.text;
    add_reports({report});
}

void settle(const std::shared_ptr<Op>& op, Outcome outcome) {
    State& s = state();
    find_race(*op, outcome);
    if (std::holds_alternative<HostWork>(op->work)) s.races.learn(op->order); // whom it tells, nobody knows
    s.counted_time += counted_time_of(outcome);
    if (outcome.code != CUDA_SUCCESS && op->context->sticky == CUDA_SUCCESS) {
        op->context->sticky = s.fault = outcome.code;
        op->context->finding = s.finding = std::move(outcome.finding);
    }
    if (const FreeWork* work = std::get_if<FreeWork>(&op->work)) forget_block(work->address);
    finish(op);
}

// One op from ready to done, with the one begun before its end. Someone else executing, or nothing ready: false.
bool step(Lock& lock) {
    Queue& q = queue();
    if (q.executing || q.ready.empty() || this_thread().in_callback) return false;
    State& s = state();
    const std::shared_ptr<Op> op = take_ready(), next = begun_with(*op);
    const ExecuteSetting setting{s.memory, *s.profile, s.options, op->context->sticky};
    q.executing = true;
    q.in_memory = touches_memory(op->work);
    lock.unlock();
    Outcome outcome, of_next;
    if (next) of_next = execute_overlapped(next->work, op->work, setting, outcome);
    else outcome = execute(op->work, setting);
    lock.lock();
    q.executing = q.in_memory = false;
    settle(op, std::move(outcome));
    if (next) {
        q.ready.erase(next->sequence); // where the end of `op` put it
        settle(next, std::move(of_next));
    }
    s.changed.notify_all();
    return true;
}

} // namespace

void reseed(uint64_t seed) { queue().random = seed; }

std::shared_ptr<Op> add_op(const std::shared_ptr<Context>& context, Work work, const Ops& after) {
    auto op = std::make_shared<Op>();
    op->sequence = queue().next_sequence++;
    op->context = context;
    op->work = std::move(work);
    if (finds_races()) state().races.place(op->order, after);
    for (const std::shared_ptr<Op>& before : after) {
        if (!before || before->done) continue;
        before->dependents.push_back(op);
        op->unmet++;
    }
    context->pending++;
    if (op->unmet == 0) queue().ready.emplace(op->sequence, op);
    return op;
}

// The legacy stream waits for every blocking stream of its context, and they wait for it.
Ops predecessors(const Stream& stream) {
    Ops ops{stream.last};
    const std::shared_ptr<Context> context = stream.context.lock();
    if (stream.legacy) {
        for (const std::weak_ptr<Stream>& other : context->streams)
            if (auto o = other.lock(); o && !(o->flags & CU_STREAM_NON_BLOCKING)) ops.push_back(o->last);
    } else if (!(stream.flags & CU_STREAM_NON_BLOCKING)) {
        ops.push_back(context->legacy->last);
    }
    return ops;
}

std::shared_ptr<Op> append(const std::shared_ptr<Stream>& stream, Work work) {
    const std::shared_ptr<Op> before = stream->last;
    const auto* kernel = std::get_if<KernelWork>(&work);
    const bool overlaps = kernel && kernel->programmatic && before && std::holds_alternative<KernelWork>(before->work);
    stream->last = add_op(stream->context.lock(), std::move(work), predecessors(*stream));
    if (overlaps) stream->last->overlaps = before.get();
    return stream->last;
}

void run_eagerly(Lock& lock) {
    if (eager())
        while (step(lock)) {}
    else if (queue().ready.size() > MOST_DEFERRED) step(lock);
}

void run_one(Lock& lock) { step(lock); }

bool is_done(const std::shared_ptr<Op>& op) {
    if (op && op->done) state().races.learn(op->order);
    return !op || op->done;
}

CUresult wait_for(Lock& lock, const std::shared_ptr<Op>& op) {
    if (is_done(op)) return CUDA_SUCCESS;
    const std::shared_ptr<Context> context = op->context;
    while (!is_done(op))
        if (!step(lock)) state().changed.wait(lock, [&] { return op->done || !queue().executing; });
    return context->sticky;
}

CUresult wait_for_context(Lock& lock, const std::shared_ptr<Context>& context) {
    while (context->pending)
        if (!step(lock)) state().changed.wait(lock, [&] { return !context->pending || !queue().executing; });
    state().races.learn_all();
    return context->sticky;
}

void wait_for_memory(Lock& lock) {
    state().changed.wait(lock, [] { return !queue().in_memory; });
}

CUresult submit(Lock& lock, CUstream handle, Work work, bool wait) {
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->capture) {
        if (wait) return refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        return capture_work(stream, std::move(work));
    }
    if (stream->legacy)
        if (CUresult refusal = check_legacy_stream(*stream->context.lock())) return refusal;
    const std::shared_ptr<Op> op = append(stream, std::move(work));
    if (wait) return wait_for(lock, op);
    run_eagerly(lock);
    return CUDA_SUCCESS;
}

} // namespace emu::driver

// SPDX-License-Identifier: Apache-2.0
// Whose turn it is in a cluster, and for how long: by the schedule and the cluster's own random numbers alone, so that
// what its blocks see of each other is the same in each run with the same seed.
#include "cluster.h"

#include <algorithm>

#include "../report/report.h"
#include "cancel.h"
#include "run.h"

namespace emu {
namespace {
constexpr uint64_t TURN = 1024;     // warp instructions of a block before another one gets its turn
constexpr unsigned MOST_QUIET = 10; // turns grow so often while nothing changes: a block that spins shows it in one
constexpr uint64_t STARVED = 64;    // once in so many turns the others, as for warps

uint64_t product(const Dim3& d) { return uint64_t(d.x) * d.y * d.z; }

Dim3 id_of(const Launch& launch, uint64_t number) {
    const uint64_t x = launch.grid.x / launch.cluster.x, y = launch.grid.y / launch.cluster.y;
    return {uint32_t(number % x), uint32_t(number / x % y), uint32_t(number / x / y)};
}
} // namespace

bool cancel_cluster(Launch& launch, Dim3& first_block) {
    const Dim3& c = launch.cluster;
    const uint64_t next = launch.state->next_cluster.fetch_add(1);
    if (next >= product(launch.grid) / product(c)) return false;
    const Dim3 id = id_of(launch, next);
    first_block = {id.x * c.x, id.y * c.y, id.z * c.z};
    return true;
}

ClusterRun::ClusterRun(Launch& launch) : launch_(launch), states_(product(launch.cluster)) {
    for (size_t rank = 0; rank < states_.size(); rank++) {
        blocks_.push_back(std::make_unique<Block>(launch, cluster_, rank ? blocks_[0]->cta.observer : nullptr));
        cluster_.blocks.push_back(&blocks_.back()->cta);
    }
}

void ClusterRun::begin(uint64_t number) {
    const Dim3& c = launch_.cluster;
    cluster_.id = id_of(launch_, number);
    cluster_.arrived = cluster_.live_threads = 0;
    for (uint32_t rank = 0; rank < blocks_.size(); rank++) {
        const Dim3 at{rank % c.x, rank / c.x % c.y, rank / c.x / c.y};
        Block& block = *blocks_[rank];
        block.begin({cluster_.id.x * c.x + at.x, cluster_.id.y * c.y + at.y, cluster_.id.z * c.z + at.z}, rank);
        cluster_.live_threads += block.cta.threads;
        states_[rank] = State::runs;
    }
    running_ = quiet_ = 0;
    left_ = turns_ = 0;
    rng_ = launch_.options.seed * 0x9e3779b97f4a7c15ull + number;
}

uint64_t ClusterRun::executed() const {
    uint64_t sum = 0;
    for (const auto& b : blocks_) sum += b->cta.executed;
    return sum;
}

uint64_t ClusterRun::changes() const {
    uint64_t sum = 0;
    for (const auto& b : blocks_) sum += b->cta.changes;
    return sum;
}

// A block that may be able to go on; their number: none.
size_t ClusterRun::choose() {
    const size_t n = blocks_.size();
    size_t from = running_ + 1;
    const Schedule s = launch_.options.schedule;
    if (s == Schedule::random) from = next_random(rng_) % n;
    const bool fair = s == Schedule::round_robin || s == Schedule::random || ++turns_ % STARVED == 0;
    for (size_t i = 0; i < n; i++) {
        const size_t k = fair ? (from + i) % n : s == Schedule::starve_high ? i : n - 1 - i;
        if (states_[k] == State::runs) return k;
    }
    return n;
}

uint64_t ClusterRun::turn_length() {
    const uint64_t turn = launch_.options.schedule == Schedule::random ? 1 + next_random(rng_) % TURN : TURN;
    return turn << std::min(quiet_, MOST_QUIET);
}

// What a turn showed. A change may let any block go on.
void ClusterRun::note(size_t block, Stop stop, bool changed) {
    quiet_ = changed ? 0 : quiet_ + 1;
    if (changed)
        for (State& s : states_)
            if (s != State::ended) s = State::runs;
    if (stop == Stop::turn_over) return;
    left_ = 0;
    if (stop == Stop::finished) states_[block] = State::ended;
    else if (!changed) states_[block] = stop == Stop::blocked ? State::blocked : State::waits;
}

// No block can go on by itself.
Stop ClusterRun::all_idle() {
    const auto is = [&](State state) { return std::find(states_.begin(), states_.end(), state) != states_.end(); };
    if (is(State::waits)) { // for memory that other clusters may change: all once more, in the next turn
        for (State& s : states_)
            if (s != State::ended) s = State::runs;
        return Stop::waiting;
    }
    if (!is(State::blocked)) return Stop::finished;
    report_waiting("deadlock", "no warp of the cluster can go on");
    return Stop::failed;
}

Stop ClusterRun::run(uint64_t budget) {
    if (blocks_.size() == 1) return blocks_[0]->run(budget);
    for (uint64_t used = 0;;) {
        if (!left_ || states_[running_] != State::runs) {
            const size_t next = choose();
            if (next == blocks_.size()) return all_idle();
            running_ = next;
            left_ = turn_length();
        }
        if (used == budget) return Stop::turn_over;
        const uint64_t ran = executed(), before = changes();
        const Stop stop = blocks_[running_]->run(std::min(left_, budget - used));
        if (stop == Stop::failed) return stop;
        used += executed() - ran;
        left_ -= executed() - ran;
        note(running_, stop, changes() != before);
    }
}

void ClusterRun::report_launch_limit() {
    const auto shorter = [](const auto& a, const auto& b) { return a->cta.executed < b->cta.executed; };
    (*std::max_element(blocks_.begin(), blocks_.end(), shorter))->report_launch_limit();
}

// About the first block that has not ended, with the waits of all.
void ClusterRun::report_waiting(const char* kind, const std::string& what) {
    std::string text = "  " + what + "\n";
    uint32_t pc = 0;
    Block* first = nullptr;
    for (auto& b : blocks_) {
        if (!b->cta.live_threads) continue;
        if (blocks_.size() > 1) text += "  block " + std::to_string(b->cta.rank) + " of the cluster\n";
        const uint32_t at = b->describe(text);
        if (!first) pc = at, first = b.get();
    }
    report_raw((first ? first : blocks_[0].get())->cta, kind, pc, text + replay(launch_));
}

void ClusterRun::add_to(Counters& total) const {
    for (const auto& b : blocks_) b->add_to(total);
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// Divergence: a warp is a set of fragments (pc, lanes); one runs at a time. Lanes that part at a branch meet again at
// its
// post-dominator (a Join), or, in `late` mode, only where an instruction needs them together. Instructions with a
// member mask or .aligned park their fragment until the lanes they name have come.
#include "run.h"
#include "waiting.h"

namespace emu {

uint32_t next_random(uint64_t& state) { // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return uint32_t((z ^ (z >> 31)) >> 32);
}

namespace {

void remove_fragment(Warp& w, int32_t index) {
    w.frags[size_t(index)] = w.frags.back();
    w.frags.pop_back();
    w.current = -1;
}

int32_t new_join(Warp& w, uint32_t pc, uint32_t lanes, int32_t parent) {
    Join join{pc, lanes, 0, parent};
    for (size_t i = 0; i < w.joins.size(); i++) {
        if (w.joins[i].expected) continue;
        w.joins[i] = join;
        return int32_t(i);
    }
    w.joins.push_back(join);
    return int32_t(w.joins.size() - 1);
}

// Takes lanes out of join j; if nobody else is missing, those that wait there go on.
void leave_join(Warp& w, int32_t j, uint32_t lanes) {
    Join& join = w.joins[size_t(j)];
    if (!join.expected) return;
    join.expected &= ~lanes;
    join.arrived &= ~lanes;
    if (join.arrived != join.expected) return;
    if (join.expected) w.frags.push_back({WarpSplit::ready, join.pc, join.arrived, join.parent, 0});
    join = {};
}

int depth_of(const Warp& w, int32_t j) {
    int d = 0;
    for (; j >= 0; j = w.joins[size_t(j)].parent) d++;
    return d;
}

// Two fragments become one: both must belong to the same join, so the deeper ones leave theirs first.
void unite(Warp& w, size_t into, size_t from) {
    WarpSplit a = w.frags[into], b = w.frags[from];
    while (a.join != b.join) {
        WarpSplit& deeper = depth_of(w, a.join) >= depth_of(w, b.join) ? a : b;
        int32_t j = deeper.join;
        deeper.join = w.joins[size_t(j)].parent;
        leave_join(w, j, deeper.mask);
    }
    a.mask |= b.mask;
    a.state = WarpSplit::ready;
    w.frags[into] = a;
    remove_fragment(w, int32_t(from));
}

bool makes_join(Warp& w) {
    switch (w.launch->options.merge) {
    case Merge::ipdom: return true;
    case Merge::late: return false;
    case Merge::random: return next_random(w.rng) & 1;
    }
    return true;
}
int32_t join_of_branch(Warp& w) {
    const WarpSplit& f = w.frags[size_t(w.current)];
    const uint32_t meet = w.info().reconverge;
    const bool has_end = meet < w.kernel->code.size();
    if (!has_end || (f.join >= 0 && w.joins[size_t(f.join)].pc == meet) || !makes_join(w)) return f.join;
    return new_join(w, meet, f.mask, f.join);
}
} // namespace

Flow branch(Warp& w, const Inst& in, uint32_t taken) {
    if (in.flags & Inst::backward) note_loop(w, in);
    WarpSplit& f = w.frags[size_t(w.current)];
    uint32_t stay = f.mask & ~taken;
    if (!stay) {
        f.pc = in.target;
        if ((in.flags & Inst::backward) && w.frags.size() > 1) { // the others get their turn: a lane may wait for them
            w.turn = uint32_t(w.current) + 1;
            w.current = -1;
        }
        return Flow::moved;
    }
    w.cta->counters->divergent_branches++;
    const int32_t join = join_of_branch(w);
    WarpSplit other{WarpSplit::ready, in.target, taken, join, 0};
    f.pc = w.pc + 1;
    f.mask = stay;
    f.join = join;
    bool swap = w.launch->options.merge == Merge::random && (next_random(w.rng) & 1);
    if (swap) std::swap(f, other);
    w.frags.push_back(other);
    return Flow::moved;
}

Flow branch_each(Warp& w, const Inst& in, const uint32_t* target) {
    WarpSplit ways[32]; // where lanes go, each of their own
    size_t count = 0;
    const size_t mine = size_t(w.current);
    for (uint32_t left = w.frags[mine].mask; left; left &= left - 1) {
        const uint32_t lane = uint32_t(__builtin_ctz(left)), to = w.mask >> lane & 1 ? target[lane] : w.pc + 1;
        size_t i = 0;
        while (i < count && ways[i].pc != to) i++;
        if (i == count) ways[count++] = {WarpSplit::ready, to, 0, w.frags[mine].join, 0};
        ways[i].mask |= 1u << lane;
    }
    if (in.flags & Inst::backward) note_loop(w, in);
    if (count > 1) {
        w.cta->counters->divergent_branches++;
        const int32_t join = join_of_branch(w);
        for (size_t i = 0; i < count; i++) ways[i].join = join;
    }
    if (w.launch->options.merge == Merge::random) std::swap(ways[0], ways[next_random(w.rng) % count]);
    w.frags[mine] = ways[0];
    w.frags.insert(w.frags.end(), ways + 1, ways + count);
    if ((in.flags & Inst::backward) && w.frags.size() > 1) { // as in branch()
        w.turn = uint32_t(mine) + 1;
        w.current = -1;
    }
    return Flow::moved;
}

void merge_at_join(Warp& w) {
    WarpSplit& f = w.frags[size_t(w.current)];
    Join& join = w.joins[size_t(f.join)];
    join.arrived |= f.mask;
    if (join.arrived == join.expected) {
        f.mask = join.arrived;
        f.join = join.parent;
        join = {};
    } else {
        remove_fragment(w, w.current);
    }
}

Flow exit_lanes(Warp& w, uint32_t lanes) {
    if (w.cta->observer) w.cta->observer->lanes_exit(w, lanes);
    WarpSplit f = w.frags[size_t(w.current)];
    f.mask &= ~lanes;
    f.pc = w.pc + 1;
    w.frags[size_t(w.current)] = f;
    if (!f.mask) remove_fragment(w, w.current);
    for (int32_t j = f.join; j >= 0;) {
        int32_t parent = w.joins[size_t(j)].parent;
        leave_join(w, j, lanes);
        j = parent;
    }
    w.live &= ~lanes;
    w.cta->changes++;
    w.cta->live_threads -= count_lanes(lanes);
    cluster_exit(w, lanes);
    for (WarpSplit& p : w.frags)
        if (p.state == WarpSplit::at_sync) p.state = WarpSplit::ready; // fewer lanes to wait for: look again
    return barriers_after_exit(*w.cta) ? Flow::moved : Flow::failed;
}

bool gather(Warp& w, const Inst& in, uint32_t lanes, uint32_t required) {
    (void)in;
    uint32_t pc = w.pc;
    WarpSplit f = w.frags[size_t(w.current)];
    if (lanes != f.mask) { // lanes whose guard is false go on
        WarpSplit rest{WarpSplit::ready, pc + 1, f.mask & ~lanes, f.join, 0};
        w.frags.push_back(rest);
    }
    f.mask = lanes;
    f.pc = pc;
    f.state = WarpSplit::at_sync;
    w.frags[size_t(w.current)] = f;
    size_t mine = size_t(w.current);
    w.current = -1;
    for (size_t i = 0; i < w.frags.size(); i++) {
        const WarpSplit& p = w.frags[i];
        if (i == mine || p.state != WarpSplit::at_sync || p.pc != pc || !(p.mask & required)) continue;
        unite(w, std::min(i, mine), std::max(i, mine));
        break;
    }
    return false;
}

Flow park(Warp& w, uint32_t lanes, WarpSplit::State state) {
    const WarpSplit f = w.frags[size_t(w.current)];
    if (const uint32_t rest = f.mask & ~lanes) w.frags.push_back({WarpSplit::ready, w.pc + 1, rest, f.join, 0});
    WarpSplit& parked = w.frags[size_t(w.current)];
    parked.mask = lanes;
    parked.state = state;
    parked.pc = w.pc + 1;
    w.current = -1;
    return Flow::moved;
}

bool choose_fragment(Warp& w) {
    size_t n = w.frags.size();
    if (!n) return false;
    size_t from = w.launch->options.merge == Merge::random && n > 1 ? next_random(w.rng) : w.turn;
    for (size_t i = 0; i < n; i++) {
        size_t k = (from + i) % n;
        if (w.frags[k].state != WarpSplit::ready) continue;
        w.current = int32_t(k);
        return true;
    }
    return false;
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// The 16 barriers of a block: arrival, completion, reductions. What is wrong in their use and can be seen here is
// reported here; what needs history is the checker's.
#include "run.h"

namespace emu {
namespace {

void write_result(Warp& w, const WarpSplit& f, const BarrierState& b) {
    const Inst& in = w.kernel->code[f.pc - 1];
    switch (Reduce(in.sub)) {
    case Reduce::none: return;
    case Reduce::popc:
        for (uint32_t m = f.mask; m; m &= m - 1) w.reg<uint32_t>(in.r[0])[__builtin_ctz(m)] = b.red_popc;
        return;
    case Reduce::all:
    case Reduce::any:
        const bool value = Reduce(in.sub) == Reduce::all ? b.red_and : b.red_or;
        w.preds[in.r[0]] = (w.preds[in.r[0]] & ~f.mask) | (value ? f.mask : 0);
    }
}

bool release(Cta& cta, unsigned id) {
    BarrierState b = cta.barriers[id];
    cta.barriers[id] = {};
    cta.barrier_epoch++;
    cta.changes++;
    for (uint32_t i = 0; i < cta.nwarps; i++) {
        Warp& w = cta.warps[i];
        for (WarpSplit& f : w.frags) {
            if (f.state != WarpSplit::at_barrier || f.barrier != id) continue;
            f.state = WarpSplit::ready;
            write_result(w, f, b);
        }
    }
    return !cta.observer || cta.observer->barrier_release(cta, id, b.sync_warps, b.arrive_warps);
}
} // namespace

bool barrier_complete(Cta& cta, unsigned id) {
    BarrierState& b = cta.barriers[id];
    if (!b.arrived) return true;
    const bool waits = b.all ? b.arrived < cta.live_threads : b.rounded < b.expected;
    return waits || release(cta, id);
}

bool barriers_after_exit(Cta& cta) {
    for (unsigned id = 0; id < 16; id++)
        if (cta.barriers[id].all && !barrier_complete(cta, id)) return false;
    return true;
}

Flow barrier(Warp& w, const Inst& in, unsigned id, uint32_t threads, bool sync, Reduce reduce, uint32_t bits) {
    (void)in;
    Cta& cta = *w.cta;
    int lane = __builtin_ctz(w.mask);
    if (id >= 16)
        return report(w, "barrier", lane, "there is no barrier " + std::to_string(id) + "; they go from 0 to 15");
    if (threads % 32 || threads > cta.nwarps * 32)
        return report(w, "barrier", lane,
                      "barrier " + std::to_string(id) + " waits for " + std::to_string(threads) +
                          " threads; the block has " + std::to_string(cta.threads) +
                          " and the number must be a multiple of 32");
    BarrierState& b = cta.barriers[id];
    // A count of the whole block, which some compilers write, agrees with none.
    const uint32_t expected = threads ? threads : cta.nwarps * 32;
    if (b.arrived && b.expected != expected)
        return report(w, "barrier", lane,
                      "warps disagree on how many threads barrier " + std::to_string(id) +
                          " waits for: " + std::to_string(b.expected) + " and " + std::to_string(expected));
    b.all = threads == 0 && (b.all || !b.arrived);
    b.expected = expected;
    b.arrived += count_lanes(w.mask);
    b.rounded += w.mask == w.live ? 32u : count_lanes(w.mask);
    if (!b.all && b.rounded > b.expected)
        return report(w, "barrier", lane,
                      "more threads arrive at barrier " + std::to_string(id) + " than the " + std::to_string(expected) +
                          " that it waits for");
    if (reduce != Reduce::none) {
        b.red_popc += count_lanes(bits);
        b.red_and &= bits == w.mask;
        b.red_or |= bits != 0;
    }
    (sync ? b.sync_warps : b.arrive_warps) |= 1u << w.index;
    if (cta.observer && !cta.observer->barrier_arrive(w, id, sync)) return Flow::failed;
    if (sync) {
        cta.counters->barrier_waits++;
        WarpSplit& f = w.frags[size_t(w.current)];
        if (f.mask != w.mask) { // lanes whose guard is false go on
            w.frags.push_back({WarpSplit::ready, w.pc + 1, f.mask & ~w.mask, f.join, 0});
        }
        WarpSplit& waiting = w.frags[size_t(w.current)];
        waiting.mask = w.mask;
        waiting.state = WarpSplit::at_barrier;
        waiting.barrier = id;
        waiting.pc = w.pc + 1;
        w.current = -1;
    }
    if (!barrier_complete(cta, id)) return Flow::failed;
    return sync ? Flow::moved : Flow::next;
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// The loop: takes a warp's running fragment from instruction to instruction until it blocks, ends or its turn is over.
// Everything rare (undefined registers, late reads, lanes that must be gathered) leaves the straight path by one test.
#include "block.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "../ir/special.h"
#include "run.h"

namespace emu {
namespace {

// --- late reads ---
bool touches(const InstInfo& later, const InstInfo& load) {
    for (uint16_t d : load.dst) {
        for (uint16_t r : later.src)
            if (r == d) return true;
        for (uint16_t r : later.dst)
            if (r == d) return true;
    }
    return false;
}

// Runs a deferred load with the addresses it was issued with.
bool deliver(Warp& w, const PendingLoad& load) {
    const Inst& in = w.kernel->code[load.pc];
    const uint16_t slot = in.r[in.nregs - 1];
    uint32_t saved[64], mask = w.mask, pc = w.pc;
    uint32_t* address = w.regs + size_t(slot) * 32;
    const size_t half = load.wide ? 32 : 0; // of a register of two slots
    memcpy(saved, address, 128);
    memcpy(saved + half, address + half, 128);
    memcpy(address, load.address, 128);
    memcpy(address + half, load.address + half, 128);
    w.mask = load.mask;
    w.pc = load.pc;
    Flow flow = (!w.tainted || taint_before(w, in, load.mask)) ? in.fn(w, in) : Flow::failed;
    const std::vector<uint16_t>& written = w.kernel->infos[load.pc].dst;
    const auto stays = [&](uint16_t number) { // what the load itself wrote
        return (load.writes & class_of(number)) && std::find(written.begin(), written.end(), number) != written.end();
    };
    if (!stays(slot)) memcpy(address, saved, 128);
    if (half && !stays(uint16_t(slot + 1))) memcpy(address + half, saved + half, 128);
    w.mask = mask;
    w.pc = pc;
    return flow != Flow::failed;
}

// Where an instruction with a place in `order` reads or writes, as the low half of a generic or shared address.
uint32_t place_of(const Inst& in, const uint32_t* base, int lane) {
    const uint64_t a = in.sub & 1 ? reinterpret_cast<const uint64_t*>(base)[lane] : base[lane];
    return uint32_t(a + uint64_t(in.imm));
}
// A thread's own stores come after its loads from the same place.
bool overwrites(const Warp& w, const Inst& in, const PendingLoad& load) {
    const Inst& earlier = w.kernel->code[load.pc];
    if (!(in.access & Inst::writes) || !(earlier.access & Inst::reads)) return false;
    const uint16_t slot = in.r[(in.access & Inst::atomic) && !(in.sub & 2) ? 1 : 0];
    const uint32_t bytes = uint32_t(in.bytes) * in.vec, read = uint32_t(earlier.bytes) * earlier.vec;
    for (uint32_t m = load.mask & w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint32_t to = place_of(in, w.regs + size_t(slot) * 32, l), from = place_of(earlier, load.address, l);
        if (to - from < read || from - to < bytes) return true;
    }
    return false;
}

// Delivers what this instruction needs, and everything older. False after a report.
bool deliver_for(Warp& w, const Inst& in, const InstInfo& info) {
    size_t count = 0;
    const bool all = in.flags & Inst::delivers;
    const uint64_t touched = w.kernel->touches[w.pc];
    for (size_t i = 0; i < w.pending.size(); i++) {
        const PendingLoad& load = w.pending[i];
        const bool touch = (touched & load.writes) && touches(info, w.kernel->infos[load.pc]);
        if (all || touch || overwrites(w, in, load)) count = i + 1;
    }
    if (!count) return true;
    for (size_t i = 0; i < count; i++)
        if (!deliver(w, w.pending[i])) return false;
    w.pending.erase(w.pending.begin(), w.pending.begin() + long(count));
    w.pending_among = 0;
    for (const PendingLoad& load : w.pending) w.pending_among |= load.writes;
    return true;
}

void defer(Warp& w, const Inst& in, uint32_t lanes) {
    PendingLoad& load = w.pending.emplace_back();
    load.pc = w.pc;
    load.mask = lanes;
    const uint16_t slot = in.r[in.nregs - 1];
    load.wide = w.kernel->slot_words[slot] == 2;
    const size_t half = load.wide ? 32 : 0;
    memcpy(load.address, w.regs + size_t(slot) * 32, 128);
    memcpy(load.address + half, w.regs + size_t(slot) * 32 + half, 128);
    load.writes = w.kernel->writes[w.pc];
    w.pending_among |= load.writes;
}

// --- lanes that must be together ---
// True: go on with these lanes. False: the fragment was parked (or a report was made: *failed).
bool together(Warp& w, const Inst& in, const InstInfo& info, uint32_t lanes, bool* failed) {
    uint32_t required = w.live;
    uint32_t others = w.frags[size_t(w.current)].mask & ~lanes;
    if ((in.flags & Inst::aligned) && others) {
        report(w, row_of(info).is(trait::barrier) ? "barrier" : "divergence", __builtin_ctz(others),
               "the guard is false in this lane and true in others: "
               "all lanes of the warp must execute this instruction together");
        *failed = true;
        return false;
    }
    if (!(in.flags & Inst::aligned)) {
        const uint32_t* members = w.reg<uint32_t>(in.r[size_t(info.mask_at)]);
        uint32_t all = FULL;
        for (int l = 0; l < 32; l++) all &= members[l];
        if (all == FULL && lanes == FULL) return true;
        required = 0;
        for (uint32_t m = lanes; m; m &= m - 1) {
            int l = __builtin_ctz(m);
            if (!((members[l] >> l) & 1)) {
                report(w, "divergence", l,
                       "the member mask " + std::to_string(members[l]) + " does not name this lane");
                *failed = true;
                return false;
            }
            required |= members[l];
        }
        uint32_t gone = required & w.existing & ~w.live;
        if (gone) {
            report(w, "divergence", __builtin_ctz(gone),
                   "the member mask names this lane, which has already left the kernel");
            *failed = true;
            return false;
        }
        required &= w.live;
    }
    return (required & ~lanes) == 0 || gather(w, in, lanes, required);
}
} // namespace

Stop Block::run_warp(Warp& w, uint64_t budget) {
    return launch->options.late_reads ? run_warp<true>(w, budget) : run_warp<false>(w, budget);
}

template <bool LATE_READS> Stop Block::run_warp(Warp& w, uint64_t budget) {
    const Inst* code = cta.kernel->code.data();
    const InstInfo* infos = cta.kernel->infos.data();
    // Where no register of an instruction is undefined, or waits for a load, the slow path has nothing to do for it,
    // though others are: some are undefined in kernels that define them on some paths alone.
    const auto touches_any = [&, touches = cta.kernel->touches.data()](uint32_t pc, uint64_t among) {
        return __builtin_expect(among != 0, 0) && (touches[pc] & among);
    };
    uint64_t left = budget, lanes_off = 0; // lanes_off: of what was run
    Stop stop = Stop::blocked;
    uint32_t* const executed = counts.data();
    while (w.current >= 0 || choose_fragment(w)) {
        WarpSplit& f = w.frags[size_t(w.current)];
        uint32_t pc = f.pc;
        const uint32_t lanes = f.mask, join_pc = f.join >= 0 ? w.joins[size_t(f.join)].pc : UINT32_MAX;
        for (;;) {
            if (__builtin_expect(pc == join_pc, 0)) {
                f.pc = pc;
                merge_at_join(w);
                break;
            }
            if (__builtin_expect(left == 0, 0)) {
                f.pc = pc;
                stop = Stop::turn_over;
                goto done;
            }
            left--;
            const Inst& in = code[pc];
            executed[pc]++;
            uint32_t on = lanes & (w.preds[in.guard] ^ (0u - in.guard_not));
            w.pc = pc;
            bool tainted = touches_any(pc, w.tainted_among);
            if (tainted && !taint_guard(w, in, lanes)) goto failed_before;
            if (!on) {
                lanes_off += 32;
                pc++;
                continue;
            }
            w.mask = on;
            if ((in.flags & (Inst::sync | Inst::aligned)) && (on != FULL || (in.flags & Inst::sync))) {
                bool failed_here = false;
                f.pc = pc;
                if (!together(w, in, infos[pc], on, &failed_here)) {
                    if (failed_here) goto failed_before;
                    executed[pc]--;
                    left++;
                    break;
                }
            }
            if (on != FULL) lanes_off += 32 - count_lanes(on);
            if constexpr (LATE_READS) {
                const bool may_need = (in.flags & Inst::delivers) || (in.access & Inst::writes);
                if (w.pending_among && (may_need || touches_any(pc, w.pending_among)) && !deliver_for(w, in, infos[pc]))
                    goto failed;
                if (in.flags & Inst::late_ok) {
                    defer(w, in, on);
                    pc++;
                    continue;
                }
                tainted = touches_any(pc, w.tainted_among);
            }
            if (tainted && !taint_before(w, in, on)) goto failed;
            Flow flow = in.fn(w, in);
            if (__builtin_expect(flow == Flow::next, 1)) {
                pc++;
                continue;
            }
            if (flow == Flow::moved) {
                if (w.current >= 0 && w.frags.size() == 1 && w.frags[0].mask == lanes && &f == &w.frags[0] &&
                    f.state == WarpSplit::ready) { // a branch that all lanes took
                    pc = f.pc;
                    continue;
                }
                break;
            }
            f.pc = pc;
            if (flow == Flow::failed) goto failed;
            stop = Stop::turn_over; // Flow::wait: try again later
            goto done;
        }
    }
    if (w.finished()) stop = Stop::finished;
    goto done;
failed_before:
    lanes_off += 32;
failed:
    stop = Stop::failed;
done:
    cta.executed += budget - left;
    w.executed += budget - left;
    lane_instructions += 32 * (budget - left) - lanes_off;
    return stop;
}

uint64_t read_clock(Warp& w, uint8_t which) {
    auto what = Special(which);
    if (what == Special::clock) return uint32_t(w.cta->executed);
    if (what == Special::clock_hi) return w.cta->executed >> 32;
    if (what == Special::clock64) return w.cta->executed;
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = uint64_t(t.tv_sec) * 1000000000ull + uint64_t(t.tv_nsec);
    return what == Special::globaltimer_hi ? ns >> 32 : what == Special::globaltimer_lo ? uint32_t(ns) : ns;
}

} // namespace emu

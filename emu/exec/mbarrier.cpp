// SPDX-License-Identifier: Apache-2.0
// mbarrier.* and cp.async.mbarrier.arrive: what the instructions mean to each lane, one lane after the other.
// try_wait answers at once: how long it may suspend a thread is the hardware's choice.
//
// Inst: r = [destination,] address, operands. imm = offset, target = space of the address, sub = How.
#include "async.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

enum How : uint8_t { WIDE = 1, DROP = 2, NO_COMPLETE = 4, EXPECT = 8, PARITY = 16, NO_INC = 32, COMES = 64 };

// Where the lanes' mbarriers lie in shared memory. False after a report.
bool addresses(Warp& w, const Inst& in, unsigned slot, bool write, uint64_t* addr) {
    read_addresses(w, in.r[slot], in.imm, in.sub & WIDE, addr);
    const uint64_t window = Space(in.target) == Space::generic ? SHARED_WINDOW : 0;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        if (addr[l] - window >= WINDOW_BYTES) {
            report_access(w, "space", l, Space::generic, addr[l], 8, write, "an mbarrier lies in shared memory");
            return false;
        }
        addr[l] -= window;
    }
    return true;
}
bool place(Warp& w, const uint64_t* addr, bool write, uint32_t* at) {
    uint32_t undefined = 0; // told better by mbarrier_at
    for (int l = 0; l < 32; l++) at[l] = uint32_t(addr[l]);
    return place_shared(w, at, w.mask, 8, write, &undefined);
}
bool places(Warp& w, const Inst& in, unsigned slot, bool write, uint32_t* at) {
    alignas(64) uint64_t addr[32];
    return addresses(w, in, slot, write, addr) && place(w, addr, write, at);
}

// f(lane, mbarrier) for each lane, which returns what is wrong, or nothing.
template <class F> Flow each_mbarrier(Warp& w, const uint32_t* at, F f) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        std::string problem;
        Mbarrier* b = mbarrier_at(*w.cta, at[l], problem);
        if (b) problem = f(l, *b);
        if (!problem.empty()) return report(w, "barrier", l, b ? problem + "\n  " + describe(*b) : problem);
    }
    return Flow::next;
}

// The same for instructions that change it, all in one block.
template <class F> Flow change_here(Warp& w, const uint64_t* addr, F f) {
    uint32_t at[32];
    if (!place(w, addr, true, at)) return Flow::failed;
    if (w.cta->observer && !w.cta->observer->mbarrier_change(w, w.mask, at)) return Flow::failed;
    return each_mbarrier(w, at, [&](int l, Mbarrier& b) {
        std::string problem = f(l, b);
        if (problem.empty()) mbarrier_changed(*w.cta, b);
        return problem;
    });
}
template <class F> Flow change_each(Warp& w, const Inst& in, unsigned slot, F f) {
    alignas(64) uint64_t addr[32];
    if (!addresses(w, in, slot, true, addr)) return Flow::failed;
    if (Space(in.target) != Space::cluster) return change_here(w, addr, f);
    const auto here = [&](uint32_t, const uint64_t* at) { return change_here(w, at, f) == Flow::next; };
    return each_block(w, addr, w.mask, 8, true, here) ? Flow::next : Flow::failed;
}

Flow init(Warp& w, const Inst& in) {
    uint32_t at[32];
    if (!places(w, in, 0, true, at)) return Flow::failed;
    const uint32_t* count = w.reg<uint32_t>(in.r[1]);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        if (const Mbarrier* b = w.cta->mbarriers.find(at[l]))
            return report(w, "barrier", l, "initialised again without mbarrier.inval\n  " + describe(*b));
        if (!count[l] || count[l] > Mbarrier::MOST)
            return report(w, "barrier", l,
                          "an mbarrier for " + std::to_string(count[l]) + " arrivals; it takes 1 to " +
                              std::to_string(Mbarrier::MOST));
        const Mbarrier b{at[l], 0, count[l], count[l], 0};
        const uint64_t word = b.word();
        w.cta->mbarriers.add(b);
        std::memcpy(w.cta->shared + at[l], &word, 8);
    }
    define_shared(w, at, w.mask, 8);
    if (!w.cta->observer) return Flow::next;
    if (!w.cta->observer->shared_write(w, w.mask, at, 8)) return Flow::failed;
    w.cta->observer->mbarrier_made(w, w.mask, at);
    return Flow::next;
}

Flow inval(Warp& w, const Inst& in) {
    uint32_t at[32];
    if (!places(w, in, 0, true, at)) return Flow::failed;
    const Flow flow = each_mbarrier(w, at, [&](int l, Mbarrier&) {
        w.cta->mbarriers.remove(at[l]);
        w.cta->set_shared_defined(at[l], 8, false);
        return std::string();
    });
    if (flow == Flow::failed) return flow;
    // an operation on the object, as the tests of other threads are: none of the two races
    return !w.cta->observer || w.cta->observer->shared_atomic(w, w.mask, at, 8) ? Flow::next : Flow::failed;
}

// arrive, arrive_drop and their kinds; the state is that before the arrival.
Flow arrive(Warp& w, const Inst& in) {
    const uint32_t* operand = in.nregs > 2 ? w.reg<uint32_t>(in.r[2]) : nullptr;
    uint64_t state[32];
    const Flow flow = change_each(w, in, 1, [&](int l, Mbarrier& b) {
        state[l] = b.word();
        if (in.sub & EXPECT)
            if (std::string problem = b.expect(operand[l]); !problem.empty()) return problem;
        const uint32_t count = operand && !(in.sub & EXPECT) ? operand[l] : 1;
        return b.arrive(count, in.sub & DROP, !(in.sub & NO_COMPLETE));
    });
    return flow == Flow::next ? map_active<uint64_t>(w, in.r[0], [&](int l) { return state[l]; }) : flow;
}

Flow bytes(Warp& w, const Inst& in) {
    const uint32_t* count = w.reg<uint32_t>(in.r[1]);
    return change_each(w, in, 0,
                       [&](int l, Mbarrier& b) { return in.sub & COMES ? b.complete(count[l]) : b.expect(count[l]); });
}

// Is the phase that lane l asks for complete? `problem`: a state too old to tell.
bool is_done(const Warp& w, const Inst& in, int l, const Mbarrier& b, std::string& problem) {
    if (in.sub & PARITY) return b.parity_done(w.reg<uint32_t>(in.r[2])[l]);
    const uint32_t later = (b.phase - Mbarrier::phase_of(w.reg<uint64_t>(in.r[2])[l])) % Mbarrier::PHASES;
    if (later > 1) problem = "the state is neither of this phase nor of the one before it";
    return later;
}

Flow test_wait(Warp& w, const Inst& in) {
    uint32_t at[32], passed = 0;
    if (!places(w, in, 1, false, at)) return Flow::failed;
    const Flow flow = each_mbarrier(w, at, [&](int l, Mbarrier& b) {
        std::string problem;
        if (is_done(w, in, l, b, problem) ||
            (w.cta->async && async_deliver(w.cta->async, at[l]) && is_done(w, in, l, b, problem)))
            passed |= 1u << l;
        return problem;
    });
    if (flow == Flow::failed) return flow;
    if (w.cta->observer && !w.cta->observer->mbarrier_test(w, w.mask, at, passed)) return Flow::failed;
    set_pred(w, in.r[0], passed);
    return Flow::next;
}

Flow pending_count(Warp& w, const Inst& in) {
    const uint64_t* state = w.reg<uint64_t>(in.r[1]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return Mbarrier::pending_of(state[l]); });
}

// Each lane arrives when the copies that it has issued so far have landed.
Flow arrive_after_copies(Warp& w, const Inst& in) {
    uint32_t at[32];
    if (!places(w, in, 0, true, at)) return Flow::failed;
    if (w.cta->observer && !w.cta->observer->mbarrier_change(w, w.mask, at)) return Flow::failed;
    const Flow flow = each_mbarrier(w, at, [&](int, Mbarrier& b) {
        std::string problem = in.sub & NO_INC ? std::string() : b.more_arrivals(1);
        if (problem.empty() && !(in.sub & NO_INC)) mbarrier_changed(*w.cta, b);
        return problem;
    });
    if (flow == Flow::next) w.cta->async->arrive_after(w.index, w.pc, w.mask, at);
    return flow;
}

void place_address(const Form& form, Inst& in, unsigned operand) {
    const Operand& address = form.operands[operand];
    in.imm = int64_t(address.value);
    in.target = uint32_t(form.space);
    if (bytes_of(address.type) == 8) in.sub |= WIDE;
}
} // namespace

Handler pick_mbarrier(const Form& form, Inst& in) {
    if (form.has("pending_count")) return &pending_count;
    const bool waits = form.has("test_wait") || form.has("try_wait");
    const bool arrives = form.has("arrive") || form.has("arrive_drop");
    place_address(form, in, waits || arrives ? 1 : 0);
    if (waits) {
        in.access = Inst::reads;
        if (form.has("parity")) in.sub |= PARITY;
        return &test_wait;
    }
    if (arrives) {
        if (form.space == Space::cluster && form.operands[0].kind != Operand::sink) return nullptr; // it has no state
        if (form.has("arrive_drop")) in.sub |= DROP;
        if (form.has("noComplete")) in.sub |= NO_COMPLETE;
        if (form.has("expect_tx")) in.sub |= EXPECT;
        return &arrive;
    }
    if (form.has("complete_tx")) in.sub |= COMES;
    if (form.has("complete_tx") || form.has("expect_tx")) return &bytes;
    in.access = Inst::writes;
    return form.has("init") ? &init : &inval;
}

Handler pick_cp_arrive(const Form& form, Inst& in) {
    place_address(form, in, 0);
    if (form.has("noinc")) in.sub |= NO_INC;
    return &arrive_after_copies;
}

} // namespace emu::EMU_LEVEL

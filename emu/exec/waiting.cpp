// SPDX-License-Identifier: Apache-2.0
// A warp that spins comes back to the same branch with the same registers and local memory while other memory stays the
// same. The state is kept at growing distances (Brent's method), so that loops of any length are found within a few
// rounds, and compared at each return; a loop that counts differs in its first word. Loops whose registers change, with
// a count of their tries, are told by what they do: they read what others may change, and go round for long without
// changing anything.
#include "waiting.h"

#include <algorithm>
#include <cstring>

#include "../report/report.h"
#include "peers.h"
#include "run.h"

namespace emu {
namespace {
constexpr uint64_t FIRST_KEPT = 32; // rounds that most loops do not reach unchanged
// Primes, so that of several branches backwards in a round none is always the one that is looked at.
constexpr uint64_t PATIENCE = 251;  // such rounds of a spin after which lanes at a join wait no longer
constexpr uint64_t FAIRNESS = 4093; // and rounds of any kind: what each try changes may be what others would wait for
constexpr uint64_t LONG_LOOP = 1u << 14; // and after which a limit speaks of a spin

size_t state_words(const Warp& w) { // registers, predicates and their undefined masks lie together
    return size_t(w.undef - w.regs) + w.kernel->slots + w.kernel->preds;
}

size_t local_bytes(const Warp& w) { return size_t(w.kernel->local_bytes) * 32; }

void keep_state(Warp& w) {
    Loops& s = w.loops;
    s.state.assign(w.regs, w.regs + state_words(w));
    s.local.assign(w.local, w.local + local_bytes(w));
    s.frags = w.frags;
    s.pc = w.pc;
    s.lanes = w.frags[size_t(w.current)].mask;
    s.ran = 0;
    s.laps = 0;
    s.keep_at = s.count * 2;
}

bool same_state(Warp& w) {
    Loops& s = w.loops;
    if (s.state[s.differs] != w.regs[s.differs] || s.frags != w.frags) return false;
    uint32_t runnable = 0;
    for (const WarpSplit& f : w.frags) runnable |= f.state == WarpSplit::ready ? f.mask : 0;
    if (runnable & ~s.ran) return false;
    if (!std::memcmp(s.state.data(), w.regs, s.state.size() * 4))
        return std::equal(s.local.begin(), s.local.end(), w.local);
    while (s.state[s.differs] == w.regs[s.differs]) s.differs = (s.differs + 1) % s.state.size();
    return false;
}

// The loop that the branch at `branch` closes: a place where it reads what others may change; code size: none.
uint32_t reading_pc(const Kernel& k, uint32_t branch, bool strong) {
    for (uint32_t pc = k.code[branch].target; pc <= branch; pc++)
        if ((k.code[pc].access & Inst::reads) && (!strong || k.code[pc].order.strong())) return pc;
    return uint32_t(k.code.size());
}
bool reads_others(const Kernel& k, uint32_t branch) { return reading_pc(k, branch, true) < k.code.size(); }

// Lanes that wait at a join no longer do: those that they wait for may be waiting for them.
void leave_joins(Warp& w) {
    for (Join& join : w.joins) {
        if (!join.arrived) continue;
        w.frags.push_back({WarpSplit::ready, join.pc, join.arrived, join.parent, 0});
        join.expected &= ~join.arrived;
        join.arrived = 0;
        w.loops.changes = UINT64_MAX; // what follows is counted from here
    }
}

std::string lanes_at(const Warp& w, uint32_t lanes, uint32_t pc) {
    return "  warp " + std::to_string(w.index) + " lanes 0x" + hex(lanes) + " at " + where(*w.kernel, pc) + ": ";
}

std::string at_barrier(const Warp& w, const WarpSplit& f) {
    const BarrierState& b = w.cta->barriers[f.barrier];
    return "barrier " + std::to_string(f.barrier) + ", " + std::to_string(b.all ? b.arrived : b.rounded) + " of " +
           std::to_string(b.all ? w.cta->live_threads : b.expected) + " threads have come\n";
}

std::string at_cluster(const Warp& w) {
    const Cluster& c = *w.own->cluster;
    return "the cluster's barrier, " + std::to_string(c.arrived) + " of " + std::to_string(c.live_threads) +
           " threads have come\n";
}

// An mbarrier that a looping lane tests; its address is the first operand after the predicate.
std::string awaited(const Warp& w, uint32_t pc, int lane) {
    const Inst& in = w.kernel->code[pc];
    const uint64_t a = in.sub & 1 ? w.reg<uint64_t>(in.r[1])[lane] : w.reg<uint32_t>(in.r[1])[lane];
    const Mbarrier* b = w.cta->mbarriers.find(uint32_t(a + uint64_t(in.imm)));
    const std::string what = b ? describe(*b) : "mbarrier, which is none";
    return "waits for the " + what + ", by " + w.kernel->infos[pc].text + " at " + where(*w.kernel, pc);
}

// What a looping lane reads: "watches shared 0x600, which holds 0x0, by ld.volatile.shared.u32 at f.ptx:31".
std::string watched(const Warp& w, uint32_t pc, int lane) {
    const Inst& in = w.kernel->code[pc];
    if (row_of(w.kernel->infos[pc]).is(trait::waits)) return awaited(w, pc, lane);
    const uint16_t slot = in.access & Inst::atomic ? in.r[in.sub & 2 ? 0 : 1] : in.r[in.nregs - 1];
    uint64_t a = in.sub & 1 ? w.reg<uint64_t>(slot)[lane] + uint64_t(in.imm)
                            : uint32_t(w.reg<uint32_t>(slot)[lane] + uint32_t(in.imm));
    const auto space = Space(in.target >> 4);
    const bool shared = space == Space::shared || space == Space::cluster || a - SHARED_WINDOW < WINDOW_BYTES;
    std::string text = std::string("watches ") + (shared ? "shared" : "global") + " 0x";
    const uint8_t* at = nullptr;
    if (shared) {
        a &= WINDOW_BYTES - 1;
        const Cta* const block = block_of(*w.own, a);
        const uint64_t inside = a % PEER_BYTES;
        if (block && inside >= SHARED_BASE && inside + 4 <= block->shared_end) at = block->shared + inside;
    } else if (const Allocation* in_memory = w.launch->memory->lookup(a); in_memory && a + 4 <= in_memory->end()) {
        at = reinterpret_cast<const uint8_t*>(a);
    }
    uint32_t value = 0;
    if (at) std::memcpy(&value, at, 4);
    return text + hex(a) + (at ? ", which holds 0x" + hex(value) : "") + ", by " + w.kernel->infos[pc].text + " at " +
           where(*w.kernel, pc);
}

// The branch that closes the loop in which these lanes are, or code size.
uint32_t loop_of(const Warp& w, const WarpSplit& f) {
    const std::vector<Inst>& code = w.kernel->code;
    for (uint32_t pc = f.pc; pc < code.size(); pc++)
        if ((code[pc].flags & Inst::backward) && code[pc].target <= f.pc) return pc;
    return uint32_t(code.size());
}

uint32_t watching_pc(const Warp& w, const WarpSplit& f) {
    const Kernel& k = *w.kernel;
    const uint32_t branch = loop_of(w, f), none = uint32_t(k.code.size());
    if (branch == none) return none;
    const uint32_t strong = reading_pc(k, branch, true);
    const uint32_t any = strong < none ? strong : reading_pc(k, branch, false);
    return any < none ? any : branch;
}

std::string in_loop(const Warp& w, const WarpSplit& f) {
    const uint32_t pc = watching_pc(w, f);
    if (pc == w.kernel->code.size()) return "can go on\n";
    const uint32_t branch = loop_of(w, f);
    std::string text = "goes round the loop of lines " +
                       std::to_string(w.kernel->infos[w.kernel->code[branch].target].line) + " to " +
                       std::to_string(w.kernel->infos[branch].line);
    if (pc == branch) return text + ", which reads nothing that others change\n";
    return text + ", " + watched(w, pc, __builtin_ctz(f.mask)) + "\n";
}
} // namespace

void note_loop(Warp& w, const Inst&) {
    Loops& s = w.loops;
    w.frags[size_t(w.current)].pc = w.pc; // while it runs, only the loop knows
    const uint32_t lanes = w.frags[size_t(w.current)].mask;
    s.ran |= lanes;
    if (++s.rounds % FAIRNESS == 0 && reads_others(*w.kernel, w.pc)) leave_joins(w);
    if (s.changes != w.cta->changes) {
        s.changes = w.cta->changes;
        s.count = s.laps = 0;
        s.keep_at = FIRST_KEPT;
        s.pc = UINT32_MAX;
        return;
    }
    if (s.pc == w.pc && s.lanes == lanes) {
        if (same_state(w)) {
            s.laps++;
            s.ran = 0;
            leave_joins(w);
        } else {
            s.laps = 0;
        }
    }
    if (++s.count >= s.keep_at && !s.laps) keep_state(w);
    if (s.count % PATIENCE == 0 && reads_others(*w.kernel, w.pc)) leave_joins(w);
}

bool can_go_on(const Warp& w) {
    for (const WarpSplit& f : w.frags)
        if (f.state == WarpSplit::ready) return true;
    return false;
}

// Twice: a whole round must lie within this turn.
bool waits(const Warp& w) { return !can_go_on(w) || (w.loops.laps >= 2 && w.loops.changes == w.cta->changes); }

bool spins_long(const Warp& w) {
    for (const WarpSplit& f : w.frags) {
        const uint32_t branch = f.state == WarpSplit::ready ? loop_of(w, f) : uint32_t(w.kernel->code.size());
        if (branch < w.kernel->code.size() && w.loops.count >= LONG_LOOP && reads_others(*w.kernel, branch))
            return true;
    }
    return false;
}

uint32_t watching_pc(const Warp& w) {
    for (const WarpSplit& f : w.frags)
        if (f.state == WarpSplit::ready)
            if (const uint32_t pc = watching_pc(w, f); pc < w.kernel->code.size()) return pc;
    return uint32_t(w.kernel->code.size());
}

std::string describe_waits(const Warp& w) {
    std::string text;
    for (const Join& j : w.joins)
        if (j.arrived) text += lanes_at(w, j.arrived, j.pc) + "wait for the other lanes of the branch\n";
    for (const WarpSplit& f : w.frags) {
        if (f.state == WarpSplit::at_barrier) text += lanes_at(w, f.mask, f.pc - 1) + at_barrier(w, f);
        else if (f.state == WarpSplit::at_cluster) text += lanes_at(w, f.mask, f.pc - 1) + at_cluster(w);
        else if (f.state == WarpSplit::at_grids) text += lanes_at(w, f.mask, f.pc - 1) + "the launches before it\n";
        else if (f.state == WarpSplit::at_sync)
            text += lanes_at(w, f.mask, f.pc) + w.kernel->infos[f.pc].text + " needs lanes that never come\n";
        else text += lanes_at(w, f.mask, f.pc) + in_loop(w, f);
    }
    return text;
}

} // namespace emu

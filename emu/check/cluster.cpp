// SPDX-License-Identifier: Apache-2.0
// Blocks of one cluster in each other's shared memory: it is there from the moment when something tells that its block
// has begun, until its block ends, which must come after the last access. Part of Checker.
//
// Global memory has no happens-before. Whatever a block may have told others by strong accesses there counts as known:
// a fault can be missed so, never invented.
#include "../report/report.h"
#include "checker.h"

namespace emu {

bool Checker::not_there(Cta& block, uint32_t pc, const std::string& line, const char* what) {
    report_raw(block, "race", pc,
               line + "  " + what + " block " + std::to_string(cta_->rank) +
                   " of the cluster, whose shared memory this is: a barrier.cluster of all its threads does\n" +
                   replay(launch_));
    return false;
}

bool Checker::enter(Warp& w, uint32_t mask, const uint32_t* addr) {
    const unsigned agent = w.agent, first = unsigned(__builtin_ctz(mask));
    const auto access = [&](unsigned lane) { return line("access", agent, 1u << lane, w.pc, addr[lane], 1); };
    if (ended_) return not_there(*w.own, w.pc, access(first), "nothing orders it before the end of");
    for (uint32_t m = announced_ ? 0 : mask; m; m &= m - 1)
        if (const unsigned lane = unsigned(__builtin_ctz(m)); !order_.knows_start(agent, lane, cta_->rank))
            return not_there(*w.own, w.pc, access(lane), "nothing orders it after the beginning of");
    const auto& own = static_cast<const Checker&>(*w.own->observer);
    visits_[agent] = {{order_.now(agent), mask, uint16_t(agent)}, w.pc, addr[first], own.announced_};
    return true;
}

// Accesses by another block, without the quick ways of the everyday case.
bool Checker::foreign_read(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes) {
    if (!enter(w, mask, addr)) return false;
    const bool strong = w.kernel->code[w.pc].order.strong();
    objects_ = false;
    auto read = [&](const Access& x, Record& r) {
        objects_ |= r.object;
        return read_record(x, r);
    };
    for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t a = addr[__builtin_ctz(m)];
        if (!each_record({w, m & -m, a, bytes, strong, false, false}, a, bytes, read)) return false;
    }
    if (strong) synchronise(w, mask, addr, true, false);
    return true;
}

bool Checker::foreign_write(Warp& w, uint32_t mask, const uint32_t* addr, unsigned bytes, bool atomic) {
    if (!enter(w, mask, addr)) return false;
    const bool strong = w.kernel->code[w.pc].order.strong();
    objects_ = false;
    auto write = [&](const Access& x, Record& r) {
        objects_ |= r.object;
        return write_record(x, r);
    };
    for (uint32_t m = mask; m;) {
        const unsigned lane = unsigned(__builtin_ctz(m));
        const uint32_t a = addr[lane], lanes = same_address(m, addr, lane);
        m &= ~lanes;
        if (!each_record({w, lanes, a, bytes, strong, atomic, false}, a, bytes, write)) return false;
        merge(a, bytes);
    }
    return true;
}

bool Checker::cta_end(Cta& cta) {
    ended_ = true;
    if (launch_.races) std::erase(launch_.races->running, &cta);
    for (const Visit& visit : visits_) {
        if (!visit.event.moment || exits_.has(visit.event)) continue;
        Cta& by = *cta.cluster->blocks[visit.event.agent / WARPS];
        if (static_cast<const Checker&>(*by.observer).announced_ > visit.announced) continue;
        return not_there(by, visit.pc, line("access", visit.event.agent, visit.event.lanes, visit.pc, visit.address, 1),
                         "nothing orders it before the end of");
    }
    return true;
}

bool Checker::has_foreign(const Record& r) {
    for (const Reads* q = &r.reads; q && q->warps; q = q->next ? &shadow_.more(q->next) : nullptr)
        if (q->block != cta_->rank) return true;
    return false;
}

void Checker::lanes_exit(Warp& w, uint32_t mask) {
    if (!visits_.empty()) order_.add_known(w.agent, mask, exits_);
}

void Checker::cluster_arrive(Warp& w, uint32_t lanes, bool release) {
    order_.cluster_arrive(w.agent, lanes, w.live, release);
    if (release) global_fence();
}

void Checker::cluster_pass(Warp& w, uint32_t lanes) {
    order_.cluster_pass(w.agent, lanes, w.live);
    global_fence();
}

} // namespace emu

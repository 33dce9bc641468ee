// SPDX-License-Identifier: Apache-2.0
// Races and copies in flight in shared memory: the rules. See README.md.
#include "checker.h"

#include <cstdio>

#include "../exec/matrix_bytes.h"
#include "../report/report.h"

namespace emu {

Observer* make_checker(Launch& launch, Observer* first) {
    return launch.options.check_race ? new Checker(launch, static_cast<const Checker*>(first)) : nullptr;
}

Checker::Checker(Launch& launch, const Checker* first)
    : launch_(launch), shared_order_(first ? first->shared_order_ : std::make_shared<Spare<HappensBefore>>()),
      order_(**shared_order_), shadow_(*own_shadow_) {
    for (const InstInfo& info : launch.kernel->infos) // bulk copies ask who wrote last, however long ago
        alone_ &= !is_bulk(info);
}

void Checker::cta_begin(Cta& cta) {
    cta_ = &cta;
    if (cta.rank == 0) order_.reset(unsigned(cta.cluster->blocks.size()), cta.nwarps);
    agents_ = order_.agents();
    shadow_.reset(cta.shared_end, cta.rank, alone_ && cta.cluster->blocks.size() == 1);
    touched_ = false;
    acquired_ = 0;
    visits_.assign(cta.cluster->blocks.size() > 1 ? cta.cluster->blocks.size() * WARPS : 0, {});
    exits_.clear();
    announced_ = 0;
    made_.clear();
    ended_ = false;
    if (launch_.races) launch_.races->running.push_back(&cta);
}

// --- messages ---

std::string Checker::who(unsigned agent) const {
    const std::string warp = "warp " + std::to_string(agent % WARPS);
    return cta_->cluster->blocks.size() > 1 ? "block " + std::to_string(agent / WARPS) + " " + warp : warp;
}

std::string Checker::line(const char* what, unsigned agent, uint32_t lanes, uint32_t pc, uint32_t address,
                          unsigned span) const {
    char text[96], which[48];
    if (!lanes) std::snprintf(which, sizeof which, "all lanes");
    else if (lanes & (lanes - 1)) std::snprintf(which, sizeof which, "lanes 0x%x", lanes);
    else std::snprintf(which, sizeof which, "lane %d", __builtin_ctz(lanes));
    std::snprintf(text, sizeof text, " %s   shared 0x%x..0x%x", which, address, address + span - 1);
    const bool foreign = agent / WARPS != cta_->rank;
    return std::string("  ") + what + "  " + where(*cta_->kernel, pc) + "   " + who(agent) + text +
           (foreign ? " of block " + std::to_string(cta_->rank) : "") + "\n";
}

bool Checker::race(const Access& a, const char* now, const char* then, const Event& e, uint32_t pc) {
    std::string body = line(now, a.agent(), a.lanes, a.warp.pc, a.address, a.span);
    body += line(then, e.agent, e.lanes, pc, a.address, a.span);
    if (e.agent != a.agent())
        body += "  nothing orders them: " + who(a.agent()) + " has seen " + who(e.agent) + " up to its moment " +
                std::to_string(order_.known(a.agent()).all(e.agent)) + ", the earlier access came at " +
                std::to_string(e.moment) + "; " + std::to_string(cta_->barrier_epoch) +
                " barriers of the block are complete\n";
    else if (e.moment == 0) body += "  two lanes of one instruction write different values there\n";
    else
        body +=
            "  lanes of one warp are ordered by bar.warp.sync, or a barrier of the block, and there was none between\n";
    report_raw(*a.warp.own, "race", a.warp.pc, body + replay(launch_));
    return false;
}

bool Checker::in_flight(const Access& a, const Record& r, const char* now) {
    std::string body = line(now, a.agent(), a.lanes, a.warp.pc, a.address, a.span);
    body += line("copy ", r.write().agent, r.write_lanes, r.write_pc, a.address, a.span);
    body += r.flags & Record::bulk
                ? "  the copy is still in flight: nobody has seen the phase of its mbarrier complete\n"
                : "  the asynchronous copy is still in flight: no wait_group of its thread covers it yet\n";
    report_raw(*a.warp.own, "async", a.warp.pc, body + replay(launch_));
    return false;
}

bool Checker::unpublished(const Access& a, const Record& r) {
    std::string body = line("read ", a.agent(), a.lanes, a.warp.pc, a.address, a.span);
    body += line("copy ", r.write().agent, r.write_lanes, r.write_pc, a.address, a.span);
    body += "  after a wait_group the bytes are visible to the thread that issued the copy; "
            "others need a barrier after that wait\n";
    report_raw(*a.warp.own, "async", a.warp.pc, body + replay(launch_));
    return false;
}

// --- one record ---

// Is the event over for all lanes of the access? A lane that took part in it reads what it wrote itself.
bool Checker::is_before(const Access& a, const Event& e, bool collective, bool reads) const {
    if (e.agent != a.agent()) return order_.before(e, a.agent(), a.lane());
    if (e.moment <= order_.known(e.agent).all(e.agent)) return true;
    const bool own = !collective && !a.collective;
    if (own && reads && (e.lanes & a.lanes) == a.lanes) return true;
    if (!own && (e.lanes & a.lanes)) return false; // who took part in something collective counts for none of its bytes
    bool all = true;
    for (uint32_t m = a.lanes; m; m &= m - 1) all &= order_.before(e, a.agent(), unsigned(__builtin_ctz(m)));
    return all;
}

// The byte of a register that the store which is looked at leaves at an address: of a lane's element, or of a row of
// a matrix.
Checker::Stored Checker::stored_at(const Access& a, uint32_t address) const {
    const Inst& in = a.warp.kernel->code[a.warp.pc];
    if (a.collective) {
        uint32_t m = storing_mask_;
        while (address - storing_[__builtin_ctz(m)] >= 16) m &= m - 1;
        const unsigned row = unsigned(__builtin_ctz(m));
        const MatrixByte from = matrix_byte(in, row, address - storing_[row]);
        return {from.slot, from.lane, from.lane * size_t(4) + from.byte};
    }
    const size_t lane_bytes = in.bytes == 16 ? 16 : store_register_bytes(in) == 8 ? 8 : 4;
    const unsigned at = address - storing_[a.lane()];
    return {in.r[1 + at / in.bytes], a.lane(), a.lane() * lane_bytes + at % in.bytes};
}

// Does a store leave there what the same instruction stored? Compilers let all warps that hold a value store it.
bool Checker::repeats(const Access& a, const Record& r) const {
    const Warp& w = a.warp;
    if (!storing_ || (r.flags & ~(a.collective ? Record::collective : 0)) || r.write_pc != w.pc) return false;
    if (!cta_->shared_is_defined(a.address, a.span)) return false;
    for (uint32_t address = a.address; address < a.address + a.span; ++address) {
        const Stored from = stored_at(a, address);
        if (w.tainted && w.undef[from.slot] >> from.lane & 1) return false;
        if (w.reg<uint8_t>(from.slot)[from.at] != cta_->shared[address]) return false;
    }
    return true;
}

// Whoever comes after one of those that stored the same value reads it.
bool Checker::follows_alike(const Access& a, const Record& r) {
    for (const Reads* q = &r.reads; q && q->warps; q = q->next ? &shadow_.more(q->next) : nullptr)
        for (uint32_t m = q->alike ? q->warps : 0; m; m &= m - 1)
            if (is_before(a, q->event(unsigned(__builtin_ctz(m))), false, true)) return true;
    return false;
}

bool Checker::check_entries(const Access& a, const Record& r, bool reads) {
    for (const Reads* q = &r.reads; q && q->warps; q = q->next ? &shadow_.more(q->next) : nullptr) {
        if ((reads && !q->wrote) || (q->strong && a.strong)) continue;
        if (q->alike && (reads || repeats(a, r))) continue;
        for (uint32_t m = q->warps; m; m &= m - 1) {
            const Event e = q->event(unsigned(__builtin_ctz(m)));
            if (!is_before(a, e, false, reads))
                return race(a,
                            reads      ? "read "
                            : a.atomic ? "atomic"
                                       : "write",
                            q->wrote ? "atomic" : "read ", e, q->pc);
        }
    }
    return true;
}

// Is there an entry of the same moment that takes these reads in? Then nothing need be gone through.
bool Checker::joins_entry(Record& r, const Reads& reads) {
    for (Reads* q = &r.reads; q && q->warps; q = q->next ? &shadow_.more(q->next) : nullptr) {
        if (!q->like(reads)) continue;
        const bool has = (q->warps & reads.warps) && (q->lanes & reads.lanes) == reads.lanes;
        if (!has && q->warps != reads.warps && q->lanes != reads.lanes) continue;
        if (!has) q->warps |= reads.warps, q->lanes |= reads.lanes;
        q->pc = reads.pc;
        return true;
    }
    return false;
}

// Keeps what is not over for this access, and adds `reads`.
void Checker::note(const Access& a, Record& r, Reads reads) {
    Reads kept[2 * WARPS];
    unsigned count = 0;
    bool added = false;
    const bool by_read = reads.warps && !reads.wrote; // stands for earlier reads, but not for writes
    for (const Reads* q = &r.reads; q && q->warps; q = q->next ? &shadow_.more(q->next) : nullptr) {
        Reads left = *q;
        for (uint32_t m = q->warps; m; m &= m - 1)
            if (!(q->wrote && by_read) && is_before(a, q->event(unsigned(__builtin_ctz(m))), false, false))
                left.warps &= ~(m & -m);
        if (!left.warps) continue;
        if (!added && left.like(reads) && (left.lanes == reads.lanes || left.warps == reads.warps)) {
            left.lanes |= reads.lanes;
            left.warps |= reads.warps;
            left.pc = reads.pc;
            added = true;
        }
        if (count < 2 * WARPS - 1) kept[count++] = left;
    }
    shadow_.forget_reads(r);
    if (!added && reads.warps) kept[count++] = reads;
    for (unsigned i = 0; i < count; ++i) {
        kept[i].next = r.reads.warps ? r.reads.next : 0;
        if (i == 0) {
            r.reads = kept[0];
            continue;
        }
        const uint32_t index = shadow_.new_more();
        shadow_.more(index) = kept[i];
        r.reads.next = index;
    }
}

bool Checker::read_record(const Access& a, Record& r) {
    if (r.flags & Record::in_flight) return in_flight(a, r, "read ");
    const bool both_strong = a.strong && (r.flags & Record::strong);
    if (r.write_moment && !both_strong && !is_before(a, r.write(), r.flags & Record::collective, true) &&
        !follows_alike(a, r)) {
        if (r.flags & Record::copied) return unpublished(a, r);
        return race(a, "read ", r.flags & Record::atomic ? "atomic" : "write", r.write(), r.write_pc);
    }
    if (!check_entries(a, r, true)) return false;
    const Reads now{order_.now(a.agent()),    1u << a.warp.index, a.lanes, a.warp.pc, 0, a.strong, false,
                    uint8_t(a.warp.own->rank)};
    if (!joins_entry(r, now)) note(a, r, now);
    if (is_foreign(a.warp)) r.flags |= Record::foreign;
    return true;
}

bool Checker::write_record(const Access& a, Record& r) {
    const char* now = a.atomic ? "atomic" : "write";
    if (r.flags & Record::in_flight) return in_flight(a, r, now);
    const bool both_strong = a.strong && (r.flags & Record::strong);
    const bool over = !r.write_moment || is_before(a, r.write(), r.flags & Record::collective, false);
    if (!over && !both_strong) {
        if (!repeats(a, r)) return race(a, now, r.flags & Record::atomic ? "atomic" : "write", r.write(), r.write_pc);
        const uint32_t own = a.collective ? 0 : a.lanes; // of a matrix no lane has made all
        note(a, r,
             {order_.now(a.agent()), 1u << a.warp.index, own, a.warp.pc, 0, false, true, uint8_t(a.warp.own->rank),
              true});
        return true;
    }
    if (!check_entries(a, r, false)) return false;
    if (!a.strong) shadow_.forget_reads(r);
    else if (!over)
        note(a, r, {r.write_moment, 1u << r.write_warp, r.write_lanes, r.write_pc, 0, true, true, r.write_block});
    else if (r.reads.warps) note(a, r, Reads{});
    r.write_moment = order_.now(a.agent());
    r.write_lanes = a.lanes;
    r.write_pc = a.warp.pc;
    r.write_warp = uint8_t(a.warp.index);
    r.write_block = uint8_t(a.warp.own->rank);
    const bool foreign = is_foreign(a.warp) || ((r.flags & Record::foreign) && has_foreign(r));
    r.flags = uint8_t((a.strong ? Record::strong : 0) | (a.atomic ? Record::atomic : 0) |
                      (a.collective ? Record::collective : 0) | (foreign ? Record::foreign : 0));
    return true;
}

} // namespace emu

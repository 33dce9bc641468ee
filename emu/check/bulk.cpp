// SPDX-License-Identifier: Apache-2.0
// Bulk copies: accesses of the thread that issues them, in another proxy than its ordinary ones. What ordinary stores
// wrote must have come before some fence.proxy.async when a bulk copy reads it. Which thread made that fence, and
// whether the copy comes after it, is not asked: a fault can be missed so, never invented. Part of Checker.
#include "../report/report.h"
#include "checker.h"

namespace emu {

bool Checker::enter_at(Warp& w, unsigned lane, uint32_t address) {
    uint32_t addr[32];
    addr[lane] = address;
    return enter(w, 1u << lane, addr);
}

bool Checker::bulk_write(Warp& w, unsigned lane, uint32_t address, uint32_t bytes) {
    auto write = [&](const Access& x, Record& r) { return write_record(x, r); };
    auto begin = [](const Access&, Record& r) { return r.flags |= Record::in_flight | Record::bulk, true; };
    const bool atomic = w.kernel->code[w.pc].access & Inst::atomic;
    const uint32_t unit = std::min(bytes, 16u);
    if (is_foreign(w) && !enter_at(w, lane, address)) return false;
    for (uint32_t at = address; at < address + bytes; at += unit) {
        const Access a{w, 1u << lane, at, unit, atomic, atomic, false};
        if (!each_record(a, at, unit, write)) return false;
        merge(at, unit);
        if (!atomic) each_record(a, at, unit, begin);
    }
    return true;
}

bool Checker::bulk_read(Warp& w, unsigned lane, uint32_t address, uint32_t bytes) {
    auto read = [&](const Access& x, Record& r) { return read_record(x, r) && (in_proxy(r) || no_proxy_fence(x, r)); };
    for (uint32_t at = address; at < address + bytes; at += 16)
        if (!each_record({w, 1u << lane, at, 16, false, false, false}, at, 16, read)) return false;
    return true;
}

bool Checker::in_proxy(const Record& r) const {
    return !r.write_moment || (r.flags & Record::bulk) || order_.is_fenced_for_proxy(r.write());
}

bool Checker::no_proxy_fence(const Access& a, const Record& r) {
    std::string body = line("read ", a.agent(), a.lanes, a.warp.pc, a.address, a.span);
    body += line("write", r.write().agent, r.write_lanes, r.write_pc, a.address, a.span);
    body += "  a bulk copy reads what ordinary stores wrote: they need a fence.proxy.async in between\n";
    report_raw(*a.warp.own, "async", a.warp.pc, body + replay(launch_));
    return false;
}

void Checker::bulk_land(Cta&, uint32_t address, uint32_t bytes) {
    const Inst* const code = cta_->kernel->code.data();
    auto land = [code](const Access&, Record& r) {
        const bool stored = code[r.write_pc].access & Inst::writes; // st.async: in the proxy of ordinary stores
        return r.flags &= uint8_t(~(Record::in_flight | (stored ? Record::bulk : 0))), true;
    };
    const uint32_t unit = std::min(bytes, 16u);
    for (uint32_t at = address; at < address + bytes; at += unit)
        each_record({cta_->warps[0], 1, at, unit, false, false, false}, at, unit, land);
}

void Checker::proxy_fence(Warp& w, uint32_t mask) { order_.fence_proxy(w.agent, mask); }

} // namespace emu

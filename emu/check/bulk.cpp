// SPDX-License-Identifier: Apache-2.0
// Bulk copies: accesses of the thread that issues them, in another proxy than its ordinary ones. What ordinary stores
// wrote must have come before some fence.proxy.async when a bulk copy reads it. Which thread made that fence, and
// whether the copy comes after it, is not asked: a fault can be missed so, never invented. Part of Checker.
#include "../report/report.h"
#include "checker.h"

namespace emu {

bool Checker::bulk_write(Warp& w, unsigned lane, uint32_t address, uint32_t bytes) {
    auto write = [&](const Access& x, Record& r) { return write_record(x, r); };
    auto begin = [](const Access&, Record& r) { return r.flags |= Record::in_flight | Record::bulk, true; };
    for (uint32_t at = address; at < address + bytes; at += 16) {
        const Access a{w, 1u << lane, at, 16, false, false, false};
        if (!each_record(a, at, 16, write)) return false;
        merge(at, 16);
        each_record(a, at, 16, begin);
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
    auto land = [](const Access&, Record& r) { return r.flags &= uint8_t(~Record::in_flight), true; };
    for (uint32_t at = address; at < address + bytes; at += 16)
        each_record({cta_->warps[0], 1, at, 16, false, false, false}, at, 16, land);
}

void Checker::proxy_fence(Warp& w, uint32_t mask) { order_.fence_proxy(w.agent, mask); }

} // namespace emu

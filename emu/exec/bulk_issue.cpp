// SPDX-License-Identifier: Apache-2.0
// The checks that all bulk copies have in common.
#include "bulk_issue.h"

#include "../report/report.h"
#include "access.h"
#include "peers.h"
#include "run.h"

namespace emu {
namespace {

bool check_shared(Warp& w, const BulkCopy& copy, bool write) {
    for (const BulkPiece& p : copy.pieces)
        if (!check_shared_side(w, int(copy.lane), p.shared, p.bytes, write)) return false;
    return true;
}

// What is stored of a piece: ordered for this lane, and written by somebody.
bool check_source(Warp& w, unsigned lane, const BulkPiece& p) {
    const uint32_t from = p.shared + p.first / 16 * 16, end = p.shared + p.last;
    Observer* const observer = w.cta->observer;
    if (p.first == p.last) return true;
    if (observer && !observer->bulk_read(w, lane, from, (end - from + 15) / 16 * 16)) return false;
    for (uint32_t at = p.shared + p.first; w.launch->options.check_undefined && at < end; at = (at / 16 + 1) * 16) {
        const uint32_t bytes = std::min(end, (at / 16 + 1) * 16) - at;
        if (w.cta->shared_is_defined(at, bytes)) continue;
        report_access(w, "undefined", int(lane), Space::shared, at, bytes, false, "bytes that nobody wrote are stored");
        return false;
    }
    return true;
}

// All in one block, w.cta.
Flow issue_here(Warp& w, std::vector<BulkCopy>&& copies, const uint32_t* mbarrier) {
    for (BulkCopy& copy : copies) {
        if (!check_shared(w, copy, true)) return Flow::failed;
        for (const BulkPiece& p : copy.pieces)
            if (w.cta->observer && !w.cta->observer->bulk_write(w, copy.lane, p.shared, p.bytes)) return Flow::failed;
        w.cta->counters->async_bytes += copy.bytes;
        copy.mbarrier = mbarrier[copy.lane];
    }
    if (!check_mbarriers(w, mbarrier)) return Flow::failed;
    for (BulkCopy& copy : copies) w.cta->async->bulk.load(std::move(copy));
    return Flow::next;
}

// What a reduction changes has a value.
bool check_changed(Warp& w, int lane, uint32_t at, uint32_t bytes) {
    for (uint32_t i = 0; w.launch->options.check_undefined && i < bytes; i += 4) {
        if (w.cta->shared_is_defined(at + i, 4)) continue;
        report_access(w, "undefined", lane, Space::shared, at + i, 4, true,
                      "changes bytes that were never given a value");
        return false;
    }
    return true;
}
} // namespace

bool check_shared_side(Warp& w, int lane, uint32_t address, uint32_t bytes, bool write) {
    uint32_t addr[32];
    for (const uint32_t at : {address, address + bytes - 16}) {
        addr[lane] = at;
        if (!shared_fault(w, addr, 1u << lane, 16, write)) return false;
    }
    return true;
}

bool check_mbarriers(Warp& w, const uint32_t* mbarrier) {
    uint32_t undefined = 0;
    if (!EMU_LEVEL::place_shared(w, mbarrier, w.mask, 8, true, &undefined)) return false;
    if (w.cta->observer && !w.cta->observer->mbarrier_change(w, w.mask, mbarrier)) return false;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        std::string problem;
        if (mbarrier_at(*w.cta, mbarrier[__builtin_ctz(m)], problem)) continue;
        report(w, "barrier", __builtin_ctz(m), problem);
        return false;
    }
    return true;
}

BulkCopy bulk_copy(const Warp& w, int lane, uint64_t shared, uint32_t bytes) {
    BulkCopy copy;
    copy.by = w.own;
    copy.warp = w.index;
    copy.lane = uint32_t(lane);
    copy.pc = w.pc;
    copy.shared = shared > UINT32_MAX ? 0 : uint32_t(shared);
    copy.bytes = bytes;
    return copy;
}

Reach reach_of(const Form& form) {
    return form.has("multicast::cluster") ? Reach::mask : form.space == Space::cluster ? Reach::addressed : Reach::own;
}

bool find_destination(Warp& w, int lane, Reach reach, uint64_t shared, uint64_t mbarrier, uint32_t mask,
                      Destination& to) {
    const size_t blocks = w.own->cluster->blocks.size();
    const auto low = [](uint64_t address) { return address > UINT32_MAX ? 0 : uint32_t(address); };
    to = {low(shared), low(mbarrier), 1u << w.own->rank};
    if (reach == Reach::own || (reach == Reach::addressed && blocks == 1)) return true;
    const Cta *const data = block_of(*w.own, shared), *const told = block_of(*w.own, mbarrier);
    if (!data || !told) return no_such_block(w, lane, data ? mbarrier : shared, 8, true);
    if (reach == Reach::addressed && data != told) {
        report_access(w, "space", lane, Space::shared, mbarrier, 8, true,
                      "the mbarrier lies in block " + std::to_string(told->rank) +
                          " of the cluster, the data in block " + std::to_string(data->rank));
        return false;
    }
    if (reach == Reach::mask && mask >> blocks) {
        report(w, "bounds", lane,
               "a mask of 0x" + hex(mask) + " names blocks that the cluster lacks: it has " + std::to_string(blocks));
        return false;
    }
    to = {uint32_t(shared % PEER_BYTES), uint32_t(mbarrier % PEER_BYTES),
          reach == Reach::mask ? mask : 1u << data->rank};
    return true;
}

bool find_remote(Warp& w, int lane, Space space, uint64_t shared, uint64_t mbarrier, Destination& to) {
    for (uint64_t* address : {&shared, &mbarrier}) {
        if (space != Space::generic) break;
        if (*address - SHARED_WINDOW >= WINDOW_BYTES) {
            report_access(w, "space", lane, Space::generic, *address, 8, true, "is no address of shared memory");
            return false;
        }
        *address -= SHARED_WINDOW;
    }
    const Reach reach = space == Space::shared ? Reach::own : Reach::addressed;
    return find_destination(w, lane, reach, shared, mbarrier, 0, to);
}

Flow issue_loads(Warp& w, std::vector<BulkCopy>&& copies, const Destination* to) {
    uint32_t blocks = 0, mbarrier[32];
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        blocks |= to[l].blocks;
        mbarrier[l] = to[l].mbarrier;
    }
    for (uint32_t left = blocks; left; left &= left - 1) {
        uint32_t lanes = 0;
        for (uint32_t m = w.mask; m; m &= m - 1)
            if (to[__builtin_ctz(m)].blocks & left & -left) lanes |= m & -m;
        std::vector<BulkCopy> here;
        for (const BulkCopy& copy : copies)
            if (lanes >> copy.lane & 1) here.push_back(copy);
        const AtBlock there(w, *w.own->cluster->blocks[size_t(__builtin_ctz(left))], lanes);
        if (issue_here(w, std::move(here), mbarrier) == Flow::failed) return Flow::failed;
    }
    return Flow::next;
}

bool issue_remote(Warp& w, int lane, const Destination& to, RemoteWrite&& write) {
    const AtBlock there(w, *w.own->cluster->blocks[size_t(__builtin_ctz(to.blocks))], 1u << lane);
    uint32_t mbarrier[32], place[32];
    mbarrier[lane] = to.mbarrier, place[lane] = to.shared;
    const bool fits = write.bytes < 16 ? EMU_LEVEL::place_shared(w, place, w.mask, write.bytes, true, nullptr)
                                       : check_shared_side(w, lane, to.shared, write.bytes, true);
    if (!fits || (write.reduce && !check_changed(w, lane, to.shared, write.bytes))) return false;
    if (w.cta->observer && !w.cta->observer->bulk_write(w, unsigned(lane), to.shared, write.bytes)) return false;
    if (!check_mbarriers(w, mbarrier)) return false;
    w.cta->counters->async_bytes += write.bytes;
    write.by = w.own;
    write.warp = w.index, write.lane = unsigned(lane), write.pc = w.pc;
    write.to = to.shared, write.mbarrier = to.mbarrier;
    w.cta->async->remote.issue(std::move(write));
    return true;
}

bool check_reduced(Warp& w, int lane, uint64_t global, uint32_t bytes) {
    if (!w.launch->options.check_undefined || w.launch->memory->is_defined(global, bytes)) return true;
    report_access(w, "undefined", lane, Space::global, global, bytes, false,
                  "a reduction reads bytes that nobody wrote");
    return false;
}

Flow issue_store(Warp& w, BulkCopy&& copy) {
    if (!check_shared(w, copy, false)) return Flow::failed;
    for (const BulkPiece& p : copy.pieces)
        if (!check_source(w, copy.lane, p)) return Flow::failed;
    w.cta->async->bulk.store(std::move(copy));
    return Flow::next;
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// st.async and red.async, and bulk copies and reductions from the own shared memory to that of a block of the cluster,
// all told to an mbarrier there. When they land is remote_engine.cpp's affair.
//
// Inst: r = operands in the order of the text; addresses as space.h says; target = their Space, imm = the
//       BulkReduction, or 0.
#include "bulk_issue.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

BulkReduction reduction_of(const Inst& in) { return reinterpret_cast<BulkReduction>(in.imm); }

// The destination of a lane, in one block. False after a report.
bool destination(Warp& w, const Inst& in, int l, uint64_t shared, uint64_t mbarrier, Destination& to) {
    const Space space = Space(in.target);
    if (space == Space::generic)
        for (uint64_t* address : {&shared, &mbarrier}) {
            if (*address - SHARED_WINDOW >= WINDOW_BYTES) {
                report_access(w, "space", l, Space::generic, *address, 8, true, "is no address of shared memory");
                return false;
            }
            *address -= SHARED_WINDOW;
        }
    const Reach reach = space == Space::shared ? Reach::own : Reach::addressed;
    return find_destination(w, l, reach, shared, mbarrier, 0, to);
}

// What a reduction changes has a value.
bool check_changed(Warp& w, int l, uint32_t at, uint32_t bytes) {
    for (uint32_t i = 0; w.launch->options.check_undefined && i < bytes; i += 4) {
        if (w.cta->shared_is_defined(at + i, 4)) continue;
        report_access(w, "undefined", l, Space::shared, at + i, 4, true, "changes bytes that were never given a value");
        return false;
    }
    return true;
}

// The write of one lane, all but its data checked. False after a report.
bool issue(Warp& w, int l, const Destination& to, RemoteWrite&& write) {
    const AtBlock there(w, *w.own->cluster->blocks[size_t(__builtin_ctz(to.blocks))], 1u << l);
    uint32_t mbarrier[32], place[32];
    mbarrier[l] = to.mbarrier, place[l] = to.shared;
    const bool fits = write.bytes < 16 ? place_shared(w, place, w.mask, write.bytes, true, nullptr)
                                       : check_shared_side(w, l, to.shared, write.bytes, true);
    if (!fits || (write.reduce && !check_changed(w, l, to.shared, write.bytes))) return false;
    if (w.cta->observer && !w.cta->observer->bulk_write(w, unsigned(l), to.shared, write.bytes)) return false;
    if (!check_mbarriers(w, mbarrier)) return false;
    w.cta->counters->async_bytes += write.bytes;
    write.by = w.own;
    write.warp = w.index, write.lane = unsigned(l), write.pc = w.pc;
    write.to = to.shared, write.mbarrier = to.mbarrier;
    w.cta->async->remote.issue(std::move(write));
    return true;
}

// in.vec elements of in.bytes; the mbarrier is the last operand.
Flow store(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        Destination to;
        if (!destination(w, in, l, nth_address(w, in, 0, 0, l), nth_address(w, in, 1, 1u + in.vec, l), to))
            return Flow::failed;
        RemoteWrite write;
        write.bytes = uint32_t(in.bytes) * in.vec;
        write.data.resize(write.bytes);
        for (unsigned i = 0; i < in.vec; ++i)
            std::memcpy(&write.data[i * in.bytes], w.reg<uint8_t>(in.r[1 + i]) + l * in.bytes, in.bytes);
        write.reduce = reduction_of(in);
        if (!issue(w, l, to, std::move(write))) return Flow::failed;
    }
    return Flow::next;
}

// The source of a copy: ordered for this lane, and what it holds.
bool read_source(Warp& w, int l, uint32_t from, RemoteWrite& write) {
    if (!check_shared_side(w, l, from, write.bytes, false)) return false;
    if (w.cta->observer && !w.cta->observer->bulk_read(w, unsigned(l), from, write.bytes)) return false;
    write.from = from;
    write.data.assign(w.cta->shared + from, w.cta->shared + from + write.bytes);
    write.undefined.resize(write.bytes);
    for (uint32_t i = 0; i < write.bytes; ++i) write.undefined[i] = !w.cta->shared_is_defined(from + i, 1);
    return true;
}

Flow copy(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t from = nth_address(w, in, 1, 1, l);
        Destination to;
        if (!destination(w, in, l, nth_address(w, in, 0, 0, l), nth_address(w, in, 2, 3, l), to)) return Flow::failed;
        RemoteWrite write;
        write.bytes = w.reg<uint32_t>(in.r[2])[l];
        if (write.bytes % 16)
            return report_access(w, "misaligned", l, Space::shared, from, write.bytes, false,
                                 "a bulk copy takes sizes that are multiples of 16");
        if (!write.bytes) continue;
        if (!read_source(w, l, from > UINT32_MAX ? 0 : uint32_t(from), write)) return Flow::failed;
        write.reduce = reduction_of(in);
        if (!issue(w, l, to, std::move(write))) return Flow::failed;
    }
    return Flow::next;
}
} // namespace

// Whatever the text says of the data (.weak, .relaxed): what the mbarrier is told releases to the cluster.
Handler pick_remote(const Form& form, Inst& in) {
    const bool bulk = form.has("bulk"), reduces = form.mnemonic == "red" || form.has("reduce");
    if (form.vec * in.bytes > 16) return nullptr;
    keep_addresses(form, in);
    in.target = uint32_t(form.space);
    in.order.semantics = Semantics::release;
    in.order.scope = Scope::cluster;
    const BulkReduction reduce = reduces ? bulk_reduction(bulk_operation(form), element_of(form.type())) : nullptr;
    if (reduces && !reduce) return nullptr;
    in.imm = reinterpret_cast<int64_t>(reduce);
    in.access = reduces ? Inst::atomic : bulk ? 0 : Inst::writes;
    return bulk ? &copy : &store;
}

} // namespace emu::EMU_LEVEL

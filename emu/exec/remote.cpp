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

// in.vec elements of in.bytes; the mbarrier is the last operand.
Flow store(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        Destination to;
        if (!find_remote(w, l, Space(in.target), nth_address(w, in, 0, 0, l), nth_address(w, in, 1, 1u + in.vec, l),
                         to))
            return Flow::failed;
        RemoteWrite write;
        write.bytes = uint32_t(in.bytes) * in.vec;
        write.data.resize(write.bytes);
        for (unsigned i = 0; i < in.vec; ++i)
            std::memcpy(&write.data[i * in.bytes], w.reg<uint8_t>(in.r[1 + i]) + l * in.bytes, in.bytes);
        write.reduce = reduction_of(in);
        if (!issue_remote(w, l, to, std::move(write))) return Flow::failed;
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
        if (!find_remote(w, l, Space(in.target), nth_address(w, in, 0, 0, l), nth_address(w, in, 2, 3, l), to))
            return Flow::failed;
        RemoteWrite write;
        write.bytes = w.reg<uint32_t>(in.r[2])[l];
        if (write.bytes % 16)
            return report_access(w, "misaligned", l, Space::shared, from, write.bytes, false,
                                 "a bulk copy takes sizes that are multiples of 16");
        if (!write.bytes) continue;
        if (!read_source(w, l, from > UINT32_MAX ? 0 : uint32_t(from), write)) return Flow::failed;
        write.reduce = reduction_of(in);
        if (!issue_remote(w, l, to, std::move(write))) return Flow::failed;
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

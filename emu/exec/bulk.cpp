// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk without a tensor map: loads to shared memory, stores and reductions from it, groups, and prefetches.
// What they share with tensor copies is in bulk_issue.cpp; when bytes move is bulk_engine.cpp's affair.
//
// Inst: r = operands in the order of the text; the addresses as space.h says. wait_group: imm = groups, sub = .read.
#include "bulk_issue.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

bool check_size(Warp& w, int l, uint64_t global, uint32_t bytes, bool write) {
    if (bytes % 16 == 0 && global % 16 == 0) return true;
    report_access(w, "misaligned", l, Space::global, global, bytes, write,
                  "a bulk copy takes addresses and sizes that are multiples of 16");
    return false;
}

// The global side, 16 bytes at a time, as 32 lanes would access them.
bool check_global_side(Warp& w, int l, uint64_t global, uint32_t bytes, bool write) {
    const Allocation* a = w.launch->memory->lookup(global);
    const bool inside = a && global >= a->start && global - a->start <= a->bytes && a->end() - global >= bytes;
    if (!inside) {
        const uint64_t wrong = a && global >= a->start && global < a->end() ? a->end() : global;
        report_access(w, "bounds", l, Space::global, global, bytes, write, w.launch->memory->describe(wrong));
        return false;
    }
    uint64_t addr[32];
    uint32_t undefined = 0;
    for (uint32_t done = 0; done < bytes; done += 512) {
        const uint32_t lanes = (bytes - done) / 16;
        for (int i = 0; i < 32; ++i) addr[i] = global + done + 16u * unsigned(i);
        if (!check_global(w, addr, lanes >= 32 ? FULL : (1u << lanes) - 1, 16, write, &undefined)) return false;
    }
    return true;
}

BulkCopy whole_copy(const Warp& w, int l, uint64_t shared, uint64_t global, uint32_t bytes) {
    BulkCopy copy = bulk_copy(w, l, shared, bytes);
    copy.pieces.push_back({global, copy.shared, bytes, 0, bytes});
    return copy;
}

// in.vec: its Reach.
Flow load(Warp& w, const Inst& in) {
    Destination to[32];
    const Reach reach = Reach(in.vec);
    std::vector<BulkCopy> copies;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t from = nth_address(w, in, 1, 1, l);
        const uint32_t bytes = w.reg<uint32_t>(in.r[2])[l];
        const uint32_t mask = reach == Reach::mask ? w.reg<uint32_t>(in.r[4])[l] : 0;
        if (!find_destination(w, l, reach, nth_address(w, in, 0, 0, l), nth_address(w, in, 2, 3, l), mask, to[l]))
            return Flow::failed;
        if (!check_size(w, l, from, bytes, false)) return Flow::failed;
        if (!bytes) continue;
        if (!check_global_side(w, l, from, bytes, false)) return Flow::failed;
        copies.push_back(whole_copy(w, l, to[l].shared, from, bytes));
    }
    return issue_loads(w, std::move(copies), to);
}

// in.imm: the operation of a reduction, or PLAIN; in.target: the type of its elements.
constexpr int64_t PLAIN = -1;
Flow store(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t to = nth_address(w, in, 0, 0, l), from = nth_address(w, in, 1, 1, l);
        const uint32_t bytes = w.reg<uint32_t>(in.r[2])[l];
        if (!check_size(w, l, to, bytes, true)) return Flow::failed;
        if (!bytes) continue;
        const bool reads = in.imm != PLAIN;
        if (reads && (!check_global_side(w, l, to, bytes, false) || !check_reduced(w, l, to, bytes)))
            return Flow::failed;
        if (!check_global_side(w, l, to, bytes, true)) return Flow::failed;
        BulkCopy copy = whole_copy(w, l, from, to, bytes);
        if (reads) copy.reduce = bulk_reduction(unsigned(in.imm), uint8_t(in.target));
        if (issue_store(w, std::move(copy)) == Flow::failed) return Flow::failed;
    }
    return Flow::next;
}

Flow prefetch(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        if (!check_size(w, l, nth_address(w, in, 0, 0, l), w.reg<uint32_t>(in.r[1])[l], false)) return Flow::failed;
    }
    return Flow::next;
}

Flow commit(Warp& w, const Inst&) {
    for (uint32_t m = w.mask; m; m &= m - 1) w.cta->async->bulk.commit(w.index, unsigned(__builtin_ctz(m)));
    return Flow::next;
}

Flow wait(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1)
        w.cta->async->bulk.wait(w.index, unsigned(__builtin_ctz(m)), uint64_t(in.imm), in.sub);
    return Flow::next;
}
} // namespace

Handler pick_bulk(const Form& form, Inst& in) {
    if (form.has("commit_group")) return &commit;
    if (form.has("wait_group")) {
        in.imm = int64_t(form.operands[0].value);
        in.sub = form.has("read");
        return &wait;
    }
    keep_addresses(form, in);
    in.imm = form.has("reduce") ? int64_t(bulk_operation(form)) : PLAIN;
    in.target = element_of(form.type());
    if (form.has("prefetch")) return &prefetch;
    if (form.has("bulk_group")) return &store;
    in.vec = uint8_t(reach_of(form));
    return &load;
}

} // namespace emu::EMU_LEVEL

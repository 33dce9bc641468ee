// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk without a tensor map: loads to shared memory, stores from it, their groups, and prefetches.
// When bytes move is bulk_engine.cpp's affair.
//
// Inst: r = operands in the order of the text; bit i of sub: operand i is a 64-bit register. Offsets of the addresses
//       are in the Extra, in order. wait_group: imm = groups, sub = .read.
#include "async.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

uint64_t address(const Warp& w, const Inst& in, unsigned operand, unsigned nth, int l) {
    const int64_t offset = w.kernel->extras[in.extra].imm[nth];
    if (in.sub >> operand & 1) return w.reg<uint64_t>(in.r[operand])[l] + uint64_t(offset);
    return uint32_t(w.reg<uint32_t>(in.r[operand])[l] + uint32_t(offset));
}

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

bool check_shared_side(Warp& w, int l, uint64_t shared, uint32_t bytes, bool write) {
    uint32_t addr[32];
    for (const uint64_t at : {shared, shared + bytes - 16}) {
        addr[l] = at > UINT32_MAX ? 0 : uint32_t(at);
        if (!shared_fault(w, addr, 1u << l, 16, write)) return false;
    }
    return true;
}

BulkCopy describe_copy(const Warp& w, int l, uint64_t shared, uint64_t global, uint32_t bytes) {
    BulkCopy copy;
    copy.warp = w.index;
    copy.lane = uint32_t(l);
    copy.pc = w.pc;
    copy.shared = uint32_t(shared);
    copy.global = global;
    copy.bytes = bytes;
    return copy;
}

// Checks the loads of all lanes, then lets the checker know of their mbarriers, then hands them to the engine.
Flow load(Warp& w, const Inst& in) {
    uint32_t at[32], undefined = 0;
    std::vector<BulkCopy> copies;
    Observer* const observer = w.cta->observer;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t to = address(w, in, 0, 0, l), from = address(w, in, 1, 1, l), told = address(w, in, 3, 2, l);
        const uint32_t bytes = w.reg<uint32_t>(in.r[2])[l];
        at[l] = told > UINT32_MAX ? 0 : uint32_t(told);
        if (!check_size(w, l, from, bytes, false)) return Flow::failed;
        if (!bytes) continue;
        if (!check_global_side(w, l, from, bytes, false) || !check_shared_side(w, l, to, bytes, true))
            return Flow::failed;
        if (observer && !observer->bulk_write(w, unsigned(l), uint32_t(to), bytes)) return Flow::failed;
        w.cta->counters->async_bytes += bytes;
        copies.push_back(describe_copy(w, l, to, from, bytes));
        copies.back().mbarrier = at[l];
    }
    if (!place_shared(w, at, w.mask, 8, true, &undefined)) return Flow::failed;
    if (observer && !observer->mbarrier_change(w, w.mask, at)) return Flow::failed;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        std::string problem;
        if (!mbarrier_at(*w.cta, at[l], problem)) return report(w, "barrier", l, problem);
    }
    for (BulkCopy& copy : copies) w.cta->async->bulk.load(std::move(copy));
    return Flow::next;
}

Flow store(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t to = address(w, in, 0, 0, l), from = address(w, in, 1, 1, l);
        const uint32_t bytes = w.reg<uint32_t>(in.r[2])[l];
        if (!check_size(w, l, to, bytes, true)) return Flow::failed;
        if (!bytes) continue;
        if (!check_shared_side(w, l, from, bytes, false)) return Flow::failed;
        if (w.cta->observer && !w.cta->observer->bulk_read(w, unsigned(l), uint32_t(from), bytes)) return Flow::failed;
        for (uint32_t i = 0; w.launch->options.check_undefined && i < bytes; i += 16)
            if (!w.cta->shared_is_defined(uint32_t(from) + i, 16))
                return report_access(w, "undefined", l, Space::shared, from + i, 16, false,
                                     "bytes that nobody wrote are stored");
        if (!check_global_side(w, l, to, bytes, true)) return Flow::failed;
        w.cta->async->bulk.store(describe_copy(w, l, from, to, bytes));
    }
    return Flow::next;
}

Flow prefetch(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        if (!check_size(w, l, address(w, in, 0, 0, l), w.reg<uint32_t>(in.r[1])[l], false)) return Flow::failed;
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
    for (size_t i = 0; i < form.operands.size(); ++i) {
        if (form.operands[i].kind != Operand::address) continue;
        form.more->imm.push_back(int64_t(form.operands[i].value));
        if (bytes_of(form.operands[i].type) == 8) in.sub |= uint8_t(1u << i);
    }
    if (form.has("prefetch")) return &prefetch;
    return form.has("bulk_group") ? &store : &load;
}

} // namespace emu::EMU_LEVEL

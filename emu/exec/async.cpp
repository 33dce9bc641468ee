// SPDX-License-Identifier: Apache-2.0
// cp.async, commit_group, wait_group and wait_all: what the instructions mean. When bytes arrive is async_engine.cpp's.
// Chosen by pick_cp_async and pick_cp_group at load time.
//
// Inst: r = destination base, source base, size (an immediate), then src-size or the ignore-src predicate if given.
//       imm = offset of the source, target = offset of the destination, bytes = size, sub = Extra.
#include "handlers.h"

#include "async.h"

namespace emu::EMU_LEVEL {
namespace {

enum Extra : uint8_t { NONE = 0, SRC_SIZE = 1, IGNORE_SRC = 2, WIDE_DST = 4, NARROW_SRC = 8 };

AsyncEngine& engine_of(Warp& w) {
    if (!w.cta->async) w.cta->async = make_async(*w.cta);
    return *w.cta->async;
}

// Bytes that each lane copies; the others of its `bytes` are zero-filled.
void valid_bytes(const Warp& w, const Inst& in, uint8_t* valid) {
    if (!(in.sub & (SRC_SIZE | IGNORE_SRC))) {
        std::memset(valid, in.bytes, 32);
        return;
    }
    const uint32_t ignored = in.sub & IGNORE_SRC ? w.preds[in.r[3]] ^ (in.flags & Inst::not_src ? FULL : 0) : 0;
    for (int l = 0; l < 32; ++l) {
        const uint32_t size = in.sub & SRC_SIZE ? w.reg<uint32_t>(in.r[3])[l] : in.bytes;
        valid[l] = ignored >> l & 1 ? 0 : uint8_t(size < in.bytes ? size : in.bytes);
    }
}

// src-size, which may not be more than the copy, whose result is then any.
bool check_sizes(Warp& w, const Inst& in) {
    if (!(in.sub & SRC_SIZE)) return true;
    const uint32_t* sizes = w.reg<uint32_t>(in.r[3]);
    uint32_t larger = 0;
    EMU_LANES
    for (int l = 0; l < 32; ++l) larger |= (sizes[l] > in.bytes ? 1u : 0u) << l;
    if (!(larger &= w.mask)) return true;
    const int lane = __builtin_ctz(larger);
    report(w, "async", lane,
           "a copy of " + std::to_string(in.bytes) + " bytes from a source of " + std::to_string(sizes[lane]) +
               ": the source may be smaller, not larger");
    return false;
}

// A source shorter than the copy: aligned as a whole, touched only as far as it is read.
bool check_part(Warp& w, const AsyncCopy& copy, int lane, uint32_t* undefined) {
    if (copy.src[lane] % copy.bytes) {
        report_access(w, "misaligned", lane, Space::global, copy.src[lane], copy.bytes, false,
                      "the source of a copy must be aligned to its size");
        return false;
    }
    uint64_t addr[32];
    unsigned done = 0;
    for (unsigned piece = 8; piece; piece /= 2) {
        if (!(copy.valid[lane] & piece)) continue;
        uint32_t bad = 0;
        addr[lane] = copy.src[lane] + done;
        if (!check_global(w, addr, 1u << lane, piece, false, &bad)) return false;
        *undefined |= bad;
        done += piece;
    }
    return true;
}

bool check_sources(Warp& w, AsyncCopy& copy, bool plain) {
    if (plain) return check_global(w, copy.src, copy.mask, copy.bytes, false, &copy.undefined);
    uint32_t whole = 0, part = 0;
    EMU_LANES
    for (int l = 0; l < 32; ++l) {
        whole |= (copy.valid[l] == copy.bytes ? 1u : 0u) << l;
        part |= (copy.valid[l] ? 1u : 0u) << l;
    }
    whole &= copy.mask;
    part &= copy.mask & ~whole;
    if (whole && !check_global(w, copy.src, whole, copy.bytes, false, &copy.undefined)) return false;
    copy.undefined &= whole;
    for (uint32_t m = part; m; m &= m - 1)
        if (!check_part(w, copy, __builtin_ctz(m), &copy.undefined)) return false;
    return true;
}

Flow cp_async(Warp& w, const Inst& in) {
    if (!check_sizes(w, in)) return Flow::failed;
    AsyncEngine& engine = engine_of(w);
    AsyncCopy& copy = engine.begin(w.index);
    const bool plain = !(in.sub & (SRC_SIZE | IGNORE_SRC));
    copy.pc = w.pc;
    copy.mask = w.mask;
    copy.bytes = in.bytes;
    copy.whole = plain && in.bytes == 16;
    valid_bytes(w, in, copy.valid);
    const uint32_t *dst = w.reg<uint32_t>(in.r[0]), *src32 = w.reg<uint32_t>(in.r[1]);
    const uint64_t *dst64 = w.reg<uint64_t>(in.r[0]), *src = w.reg<uint64_t>(in.r[1]);
    const bool wide_dst = in.sub & WIDE_DST, narrow_src = in.sub & NARROW_SRC;
    EMU_LANES
    for (int l = 0; l < 32; ++l) copy.dst[l] = (wide_dst ? uint32_t(dst64[l]) : dst[l]) + in.target;
    EMU_LANES
    for (int l = 0; l < 32; ++l) copy.src[l] = (narrow_src ? src32[l] : src[l]) + uint64_t(in.imm);
    if (!check_sources(w, copy, plain) || !place_shared(w, copy.dst, copy.mask, copy.bytes, true, nullptr) ||
        (w.cta->observer && !w.cta->observer->async_issue(w, copy))) {
        copy.mask = 0;
        return Flow::failed;
    }
    if (w.cta->counters) w.cta->counters->async_bytes += uint64_t(copy.bytes) * count_lanes(copy.mask);
    engine.issue(copy);
    return Flow::next;
}

Flow commit_group(Warp& w, const Inst&) {
    if (w.cta->observer) w.cta->observer->async_commit(w, w.mask);
    engine_of(w).commit(w.index, w.mask);
    return Flow::next;
}

Flow wait_group(Warp& w, const Inst& in) {
    if (w.cta->observer) w.cta->observer->async_wait(w, w.mask, uint32_t(in.imm));
    engine_of(w).wait(w.index, w.mask, uint32_t(in.imm));
    return Flow::next;
}

} // namespace

Handler pick_cp_async(const Form& form, Inst& in) {
    const bool cg = form.has("cg"), ca = form.has("ca");
    if (!form.has("async") || cg == ca || form.operands.size() < 3) return nullptr;
    const Operand &dst = form.operands[0], &src = form.operands[1], &size = form.operands[2];
    if (size.kind != Operand::imm) return nullptr;
    if (size.value != 16 && !(ca && (size.value == 4 || size.value == 8))) return nullptr;
    in.bytes = uint8_t(size.value);
    in.target = uint32_t(dst.value);
    in.imm = int64_t(src.value);
    if (bytes_of(dst.type) == 8) in.sub |= WIDE_DST;
    if (bytes_of(src.type) == 4) in.sub |= NARROW_SRC;
    const size_t policy = form.has("L2::cache_hint") ? 1 : 0;
    if (form.operands.size() > 4 + policy) return nullptr;
    if (form.operands.size() == 4 + policy) in.sub |= form.operands[3].kind == Operand::pred ? IGNORE_SRC : SRC_SIZE;
    return cp_async;
}

Handler pick_cp_group(const Form& form, Inst& in) {
    if (form.has("commit_group")) return commit_group;
    if (form.has("wait_all")) {
        in.imm = int64_t(AsyncEngine::ALL);
        return wait_group;
    }
    if (!form.has("wait_group") || form.operands.empty() || form.operands[0].kind != Operand::imm) return nullptr;
    in.imm = int64_t(form.operands[0].value);
    return wait_group;
}

} // namespace emu::EMU_LEVEL

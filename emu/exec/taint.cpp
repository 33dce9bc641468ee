// SPDX-License-Identifier: Apache-2.0
// Undefined registers, lane by lane. Only runs while some register is undefined; reports where such a value is used for
// an address, a predicate that decides something, a store or a matrix product.
#include "peers.h"
#include "run.h"

namespace emu {
namespace {

void assign(Warp& w, uint16_t number, uint32_t lanes, uint32_t undefined) {
    uint32_t old = w.undef[number], now = (old & ~lanes) | (undefined & lanes);
    w.undef[number] = now;
    w.tainted += uint32_t(now != 0) - uint32_t(old != 0);
}

// x ^ x and x - x are 0 whatever x is.
bool always_zero(const InstInfo& info) {
    return info.src.size() == 2 && info.src[0] == info.src[1] && row_of(info).is(trait::cancels);
}

bool report_use(Warp& w, uint16_t source, uint32_t lanes) {
    const InstInfo& info = w.info();
    const std::string& name = w.kernel->reg_names[info.src_names[source]];
    std::string text = "'" + name + "' is used here but was never given a value in this lane";
    std::string from = undefined_origin(w);
    report(w, "undefined", __builtin_ctz(lanes), from.empty() ? text : text + "\n  " + from);
    return false;
}
} // namespace

bool taint_guard(Warp& w, const Inst& in, uint32_t lanes) {
    uint32_t bad = in.guard ? w.undef[w.kernel->slots + in.guard] & lanes : 0;
    if (!bad) return true;
    report(w, "undefined", __builtin_ctz(bad),
           "the predicate that guards this instruction was never given a value in this lane");
    return false;
}

bool taint_before(Warp& w, const Inst& in, uint32_t lanes) {
    (void)in;
    const InstInfo& info = w.info();
    if (info.taint == Taint::own) return true;
    uint32_t bad = 0;
    for (size_t i = 0; i < info.src.size(); i++) {
        uint32_t u = w.undef[info.src[i]] & lanes;
        if (u && info.taint != Taint::spread) return report_use(w, uint16_t(i), u);
        bad |= u;
    }
    if (bad && always_zero(info)) bad = 0;
    for (uint16_t d : info.dst) assign(w, d, lanes, bad);
    return true;
}

void taint_select(Warp& w, uint16_t dst, uint16_t a, uint16_t b, uint32_t choose_a, uint32_t pred_number) {
    uint32_t u = (w.undef[a] & choose_a) | (w.undef[b] & ~choose_a) | w.undef[pred_number];
    assign(w, dst, w.mask, u);
}

void taint_shuffle(Warp& w, uint16_t dst, uint16_t src, const uint8_t* from_lane) {
    uint32_t source = w.undef[src] | ~w.mask, u = 0; // a lane that is not here gives nothing
    for (unsigned l = 0; l < 32; l++) u |= ((source >> from_lane[l]) & 1) << l;
    assign(w, dst, w.mask, u);
}

void taint_loaded(Warp& w, const Inst& in, bool shared, uint32_t lanes, const uint64_t* addr, unsigned vec,
                  unsigned bytes) {
    const Memory& memory = *w.launch->memory;
    for (uint32_t m = lanes; m; m &= m - 1) {
        unsigned l = unsigned(__builtin_ctz(m));
        for (unsigned i = 0; i < vec; i++) {
            uint64_t a = addr[l] + uint64_t(i) * bytes;
            bool is_shared = shared || a < WINDOW_BYTES; // a generic address of shared memory has lost its window
            bool good = is_shared ? block_of(*w.own, a)->shared_is_defined(uint32_t(a % PEER_BYTES), bytes)
                                  : memory.is_defined(a, bytes);
            if (!good) w.set_undefined(in.r[i], 1u << l);
        }
    }
}

bool taint_atomic(Warp& w, uint32_t lanes, Space space, const uint64_t* addr, unsigned bytes) {
    int lane = __builtin_ctz(lanes);
    report_access(w, "undefined", lane, space, addr[lane], bytes, false, "changes bytes that were never given a value");
    return false;
}

} // namespace emu

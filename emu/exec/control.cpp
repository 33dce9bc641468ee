// SPDX-License-Identifier: Apache-2.0
// Order and control: bra exit ret trap, bar and barrier, fences, and hints that change nothing a program can see.
#include "lanes.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

Flow bra(Warp& w, const Inst& in) { return branch(w, in, w.mask); }
Flow exit_(Warp& w, const Inst&) { return exit_lanes(w, w.mask); }
Flow trap(Warp& w, const Inst&) { return report(w, "trap", __builtin_ctz(w.mask), "the kernel executed trap"); }
std::string text_at(const Memory& memory, uint64_t address) {
    constexpr size_t SHOWN = 256;
    std::string out;
    for (char c = 0; out.size() < SHOWN && memory.contains(address, 1); address++) {
        memory.read(&c, address, 1);
        if (!c) return out;
        out += c >= ' ' && c <= '~' ? c : '?';
    }
    return out + "...";
}
// in.r: addresses of message and file, line, address of the function's name.
Flow assertion(Warp& w, const Inst& in) {
    const int lane = __builtin_ctz(w.mask);
    const Memory& memory = *w.launch->memory;
    auto text = [&](int i) { return text_at(memory, w.reg<uint64_t>(in.r[i])[lane]); };
    return report(w, "trap", lane,
                  "the assertion '" + text(0) + "' failed at " + text(1) + ":" +
                      std::to_string(w.reg<uint32_t>(in.r[2])[lane]) + ", in " + text(3));
}
Flow nothing(Warp&, const Inst&) { return Flow::next; }
Flow fence(Warp& w, const Inst& in) {
    note_fence(w);
    const bool proxies = in.order.proxy == Proxy::async || in.order.proxy == Proxy::async_shared;
    if (proxies && w.cta->observer) w.cta->observer->proxy_fence(w, w.mask);
    return Flow::next;
}
Flow policy(Warp& w, const Inst& in) {
    return map_lanes<uint64_t>(w, in.r[0], [](int) { return 0x12f0000000000000ull; });
}
Flow warp_sync(Warp& w, const Inst&) {
    if (w.cta->observer) w.cta->observer->warp_sync(w, w.mask);
    return Flow::next;
}
EMU_INLINE uint32_t first_lane(const Warp& w, uint16_t slot) { return w.reg<uint32_t>(slot)[__builtin_ctz(w.mask)]; }
template <bool SYNC, bool COUNT> Flow bar(Warp& w, const Inst& in) {
    uint32_t threads = COUNT ? first_lane(w, in.r[1]) : 0;
    return barrier(w, in, first_lane(w, in.r[0]), threads, SYNC, Reduce::none, 0);
}
Flow bar_red(Warp& w, const Inst& in) { // in.sub: how
    uint32_t p = w.preds[in.r[2]];
    if (in.flags & Inst::not_src) p = ~p;
    return barrier(w, in, first_lane(w, in.r[1]), 0, true, Reduce(in.sub), p & w.mask);
}
} // namespace

Handler pick_branch(const Form&, Inst&) { return &bra; }

Handler pick_control(const Form& form, Inst&) {
    if (form.mnemonic == "trap") return &trap;
    if (form.mnemonic == "call") return &assertion;
    return form.mnemonic == "brkpt" ? &nothing : &exit_;
}

Handler pick_bar(const Form& form, Inst& in) {
    if (form.has("warp")) return &warp_sync;
    if (form.has("red")) {
        in.sub = uint8_t(form.has("popc") ? Reduce::popc : form.has("and") ? Reduce::all : Reduce::any);
        return &bar_red;
    }
    bool count = form.operands.size() > 1;
    if (form.has("arrive")) return &bar<false, true>;
    return count ? &bar<true, true> : &bar<true, false>;
}

// Registers are not counted here, so that any number suffices; but for what is none.
Handler pick_setmaxnreg(const Form& form, Inst&) {
    constexpr uint64_t LEAST = 24, MOST = 256, UNIT = 8;
    const uint64_t registers = form.operands[0].value;
    return registers < LEAST || registers > MOST || registers % UNIT ? nullptr : &nothing;
}

Handler pick_fence(const Form& form, Inst&) {
    if (form.mnemonic == "membar" || form.mnemonic == "fence") return &fence;
    return form.mnemonic == "createpolicy" ? &policy : &nothing;
}

} // namespace emu::EMU_LEVEL

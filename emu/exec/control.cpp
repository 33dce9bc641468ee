// SPDX-License-Identifier: Apache-2.0
// Order and control: bra brx exit ret trap, bar and barrier, fences, and hints that change nothing a program can see.
#include <cstdio>

#include "../report/report.h"
#include "lanes.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

Flow bra(Warp& w, const Inst& in) { return branch(w, in, w.mask); }
// Extra::imm: where each index leads.
Flow brx(Warp& w, const Inst& in) {
    const auto& list = w.kernel->extras[in.extra].imm;
    const uint32_t* index = w.reg<uint32_t>(in.r[0]);
    uint32_t target[32] = {};
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int lane = __builtin_ctz(m);
        if (index[lane] >= list.size())
            return report(w, "bounds", lane,
                          "the index is " + std::to_string(index[lane]) + "; its list has " +
                              std::to_string(list.size()) + " labels");
        target[lane] = uint32_t(list[index[lane]]);
    }
    return branch_each(w, in, target);
}
Flow nowhere(Warp& w, const Inst& in) {
    const int lane = __builtin_ctz(w.mask);
    char text[128];
    std::snprintf(text, sizeof text, "calls 0x%llx, where no function of the text stands that could be meant",
                  static_cast<unsigned long long>(w.reg<uint64_t>(in.r[0])[lane]));
    return report(w, "bounds", lane, text);
}
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
Flow allocate(Warp& w, const Inst& in) {
    const uint64_t* bytes = w.reg<uint64_t>(in.r[1]);
    return map_active<uint64_t>(w, in.r[0], [&](int l) { return w.launch->memory->heap_alloc(bytes[l]); });
}
Flow give_back(Warp& w, const Inst& in) {
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t at = w.reg<uint64_t>(in.r[0])[l];
        if (at && !w.launch->memory->heap_free(at))
            return report(w, "bounds", l,
                          "frees 0x" + hex(at) + ", which malloc did not give, or which is free already: " +
                              w.launch->memory->describe(at));
    }
    return Flow::next;
}
Flow nothing(Warp&, const Inst&) { return Flow::next; }
Flow fence(Warp& w, const Inst& in) {
    host_fence();
    if (w.cta->observer) w.cta->observer->fence(w, w.mask);
    const bool proxies = in.order.proxy == Proxy::async || in.order.proxy == Proxy::async_shared;
    if (proxies && w.cta->observer) w.cta->observer->proxy_fence(w, w.mask);
    return Flow::next;
}
Flow wait_for_grids(Warp& w, const Inst&) {
    host_fence();
    return w.launch->before ? park(w, w.mask, WarpSplit::at_grids) : Flow::next;
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
template <bool COUNT> Flow bar_red(Warp& w, const Inst& in) { // in.sub: how
    uint32_t p = w.preds[in.r[COUNT ? 3 : 2]];
    if (in.flags & Inst::not_src) p = ~p;
    const uint32_t threads = COUNT ? first_lane(w, in.r[2]) : 0;
    return barrier(w, in, first_lane(w, in.r[1]), threads, true, Reduce(in.sub), p & w.mask);
}
} // namespace

Handler pick_branch(const Form&, Inst&) { return &bra; }

Handler pick_brx(const Form&, Inst&) { return &brx; }

Handler pick_control(const Form& form, Inst&) {
    if (form.mnemonic == "trap") return &trap;
    if (form.mnemonic == "call" && form.has("malloc")) return &allocate;
    if (form.mnemonic == "call" && form.has("free")) return &give_back;
    if (form.mnemonic == "call") return form.has("nowhere") ? &nowhere : &assertion;
    return form.mnemonic == "brkpt" ? &nothing : &exit_;
}

Handler pick_bar(const Form& form, Inst& in) {
    if (form.has("warp")) return &warp_sync;
    if (form.has("red")) {
        in.sub = uint8_t(form.has("popc") ? Reduce::popc : form.has("and") ? Reduce::all : Reduce::any);
        return form.operands.size() > 3 ? &bar_red<true> : &bar_red<false>;
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
    if (form.mnemonic == "setmaxnreg") { // registers are the compiler's: only their number is looked at
        const uint64_t registers = form.operands[0].value;
        return registers >= 24 && registers <= 256 && registers % 8 == 0 ? &nothing : nullptr;
    }
    if (form.mnemonic == "griddepcontrol" && form.has("wait")) return &wait_for_grids;
    if (form.mnemonic == "pmevent" && !form.has("mask") && form.operands[0].value > 15) return nullptr;
    return form.mnemonic == "createpolicy" ? &policy : &nothing;
}

} // namespace emu::EMU_LEVEL

// SPDX-License-Identifier: Apache-2.0
// mov (copy, pack, unpack, clocks) and the conversions between generic and space addresses.
#include "../ir/special.h"
#include "lanes.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

struct B128 {
    uint64_t lo, hi;
};

template <class T> Flow copy(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    if (w.mask == FULL) {
        memcpy(w.regs + size_t(in.r[0]) * 32, a, sizeof(T) < 4 ? 128 : sizeof(T) * 32);
        return Flow::next;
    }
    if constexpr (sizeof(T) > 8) return map_active<T>(w, in.r[0], [&](int l) { return get<T>(a, l); });
    else return map_lanes<T>(w, in.r[0], [&](int l) { return get<T>(a, l); });
}
Flow copy_pred(Warp& w, const Inst& in) {
    uint32_t p = w.preds[in.r[1]];
    set_pred(w, in.r[0], in.flags & Inst::not_src ? ~p : p);
    return Flow::next;
}
// d = {part 0 (low), part 1, ...}
template <class D, class P, int N> Flow pack(Warp& w, const Inst& in) {
    const uint32_t* parts[N];
    for (int i = 0; i < N; i++) parts[i] = w.regs + size_t(in.r[1 + i]) * 32;
    return map_lanes<D>(w, in.r[0], [parts](int l) {
        D v = 0;
        for (int i = 0; i < N; i++) v |= D(D(get<P>(parts[i], l)) << (i * int(sizeof(P)) * 8 % (int(sizeof(D)) * 8)));
        return v;
    });
}
template <class S, class P, int N> Flow unpack(Warp& w, const Inst& in) {
    S source[32]; // a part may be the source itself
    memcpy(source, w.regs + size_t(in.r[N]) * 32, sizeof source);
    for (int i = 0; i < N; i++)
        map_lanes<P>(w, in.r[i], [&](int l) { return P(source[l] >> (i * int(sizeof(P)) * 8)); });
    return Flow::next;
}
Flow unpack16(Warp& w, const Inst& in) { // .b16 sits in a 32-bit slot
    uint32_t source[32];
    memcpy(source, w.regs + size_t(in.r[2]) * 32, sizeof source);
    for (int i = 0; i < 2; i++) map_lanes<uint8_t>(w, in.r[i], [&](int l) { return uint8_t(source[l] >> (8 * i)); });
    return Flow::next;
}
Flow pack128(Warp& w, const Inst& in) {
    const uint64_t* lo = w.reg<uint64_t>(in.r[1]);
    const uint64_t* hi = w.reg<uint64_t>(in.r[2]);
    return map_active<B128>(w, in.r[0], [&](int l) { return B128{lo[l], hi[l]}; });
}
Flow unpack128(Warp& w, const Inst& in) {
    const B128* a = w.reg<B128>(in.r[2]);
    map_active<uint64_t>(w, in.r[0], [&](int l) { return a[l].lo; });
    return map_active<uint64_t>(w, in.r[1], [&](int l) { return a[l].hi; });
}
Flow clock32(Warp& w, const Inst& in) {
    uint32_t v = uint32_t(read_clock(w, in.sub));
    return map_lanes<uint32_t>(w, in.r[0], [&](int) { return v; });
}
Flow clock64(Warp& w, const Inst& in) {
    uint64_t v = read_clock(w, in.sub);
    return map_lanes<uint64_t>(w, in.r[0], [&](int) { return v; });
}

Handler pick_pack(unsigned whole, size_t parts) {
    if (whole == 2) return parts == 2 ? &pack<uint16_t, uint8_t, 2> : nullptr;
    if (whole == 4) return parts == 2 ? &pack<uint32_t, uint16_t, 2> : &pack<uint32_t, uint8_t, 4>;
    if (whole == 8) return parts == 2 ? &pack<uint64_t, uint32_t, 2> : &pack<uint64_t, uint16_t, 4>;
    return parts == 2 ? &pack128 : nullptr;
}
Handler pick_unpack(unsigned whole, size_t parts) {
    if (whole == 2) return parts == 2 ? &unpack16 : nullptr;
    if (whole == 4) return parts == 2 ? &unpack<uint32_t, uint16_t, 2> : &unpack<uint32_t, uint8_t, 4>;
    if (whole == 8) return parts == 2 ? &unpack<uint64_t, uint32_t, 2> : &unpack<uint64_t, uint16_t, 4>;
    return parts == 2 ? &unpack128 : nullptr;
}

template <class T> Flow add_window(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    T base = T(in.imm);
    return map_lanes<T>(w, in.r[0], [&](int l) { return T(a[l] + base); });
}
// The window of kernels' parameters is a part of global memory's.
Flow isspacep(Warp& w, const Inst& in) {
    const uint64_t* a = w.reg<uint64_t>(in.r[1]);
    const uint64_t base = uint64_t(in.imm);
    const bool global = base == 0;
    const uint64_t bytes = Space(in.target) == Space::shared ? PEER_BYTES : global ? SHARED_WINDOW : WINDOW_BYTES;
    set_pred(w, in.r[0],
             test_lanes([&](int l) { return a[l] - base < bytes || (global && a[l] - PARAM_WINDOW < WINDOW_BYTES); }));
    return Flow::next;
}
uint64_t window(const Form& form) {
    switch (form.space) {
    case Space::shared:
    case Space::cluster: return SHARED_WINDOW;
    case Space::local: return LOCAL_WINDOW;
    case Space::param: return PARAM_WINDOW;
    default: return 0;
    }
}
} // namespace

Handler pick_mov(const Form& form, Inst& in) {
    Type t = form.type();
    if (form.operands.size() != 2) return nullptr;
    const Operand &d = form.operands[0], &s = form.operands[1];
    if (d.kind == Operand::vector && s.kind == Operand::vector) return nullptr;
    if (d.kind == Operand::vector) return pick_unpack(bytes_of(t), d.parts.size());
    if (s.kind == Operand::vector) return pick_pack(bytes_of(t), s.parts.size());
    if (t == Type::pred) return &copy_pred;
    if (s.kind == Operand::special && is_clock(Special(s.value))) {
        in.sub = uint8_t(s.value);
        return bytes_of(s.type) == 8 ? &clock64 : &clock32;
    }
    if (t == Type::b128) return &copy<B128>;
    return pick_bits(t, [](auto z) -> Handler { return &copy<decltype(z)>; });
}

Handler pick_cvta(const Form& form, Inst& in) {
    uint64_t base = window(form);
    in.imm = int64_t(base);
    in.target = uint32_t(form.space);
    if (form.mnemonic == "isspacep") return &isspacep;
    if (form.mnemonic != "cvta") return nullptr;
    if (bytes_of(form.type()) == 4) return nullptr; // generic addresses have 64 bits
    if (form.has("to")) in.imm = -in.imm;
    return &add_window<uint64_t>;
}

} // namespace emu::EMU_LEVEL

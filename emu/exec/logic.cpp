// SPDX-License-Identifier: Apache-2.0
// Bitwise operations on registers and predicates, lop3, and shifts (amounts beyond the width are clamped).
#include <type_traits>

#include "lanes.h"

namespace emu::EMU_LEVEL {
namespace {

struct And {
    template <class T> static EMU_INLINE T f(T a, T b) { return a & b; }
};
struct Or {
    template <class T> static EMU_INLINE T f(T a, T b) { return a | b; }
};
struct Xor {
    template <class T> static EMU_INLINE T f(T a, T b) { return a ^ b; }
};
struct Not {
    template <class T> static EMU_INLINE T f(T a) { return T(~a); }
};
struct Cnot {
    template <class T> static EMU_INLINE T f(T a) { return a == 0; }
};

template <class Op> Flow pred_binary(Warp& w, const Inst& in) {
    set_pred(w, in.r[0], Op::f(w.preds[in.r[1]], w.preds[in.r[2]]));
    return Flow::next;
}
Flow pred_not(Warp& w, const Inst& in) {
    set_pred(w, in.r[0], ~w.preds[in.r[1]]);
    return Flow::next;
}

// The table read as a sum of minterms; the common ones have a loop of their own.
Flow lop3_any(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    uint32_t m[8];
    for (int i = 0; i < 8; i++) m[i] = (uint64_t(in.imm) >> i) & 1 ? ~0u : 0u;
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t x = a[l], y = b[l], z = c[l];
        return (~x & ((~y & ((~z & m[0]) | (z & m[1]))) | (y & ((~z & m[2]) | (z & m[3]))))) |
               (x & ((~y & ((~z & m[4]) | (z & m[5]))) | (y & ((~z & m[6]) | (z & m[7])))));
    });
}
template <int LUT> Flow lop3(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        if constexpr (LUT == 0x96) return a[l] ^ b[l] ^ c[l];
        else if constexpr (LUT == 0xea) return (a[l] & b[l]) | c[l];
        else if constexpr (LUT == 0xe2) return (a[l] & b[l]) | (~b[l] & c[l]); // bits of a where b is set
        else return (a[l] & b[l]) ^ c[l];                                      // 0x6a
    });
}

// d|p: p says whether the result is not zero, combined with q. in.sub: and instead of or.
Flow lop3_predicate(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[2]);
    const uint32_t* b = w.reg<uint32_t>(in.r[3]);
    const uint32_t* c = w.reg<uint32_t>(in.r[4]);
    uint32_t result[32], set = 0;
    for (int l = 0; l < 32; l++) {
        result[l] = 0;
        for (int i = 0; i < 8; i++)
            if (in.imm >> i & 1) result[l] |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
        set |= (result[l] ? 1u : 0u) << l;
    }
    const uint32_t q = in.flags & Inst::not_src ? ~w.preds[in.r[6]] : w.preds[in.r[6]];
    set_pred(w, in.r[1], in.sub ? set & q : set | q);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return result[l]; });
}

template <class T> Flow shl(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const uint32_t* n = w.reg<uint32_t>(in.r[2]);
    constexpr uint32_t BITS = sizeof(T) * 8;
    return map_lanes<T>(w, in.r[0],
                        [&](int l) { return n[l] >= BITS ? T(0) : T(get<T>(a, l) << (n[l] & (BITS - 1))); });
}
template <class T> Flow shr(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const uint32_t* n = w.reg<uint32_t>(in.r[2]);
    constexpr uint32_t BITS = sizeof(T) * 8;
    return map_lanes<T>(w, in.r[0], [&](int l) {
        T v = get<T>(a, l);
        uint32_t s = n[l] >= BITS ? BITS - 1 : n[l];
        T shifted = T(v >> s);
        return !std::is_signed_v<T> && n[l] >= BITS ? T(0) : shifted;
    });
}
template <bool LEFT, bool WRAP> Flow shf(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* n = w.reg<uint32_t>(in.r[3]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint64_t pair = uint64_t(b[l]) << 32 | a[l];
        uint32_t s = WRAP ? n[l] & 31 : (n[l] > 32 ? 32 : n[l]);
        return LEFT ? uint32_t((pair << s) >> 32) : uint32_t(pair >> s);
    });
}
template <class Op> Handler bitwise(Type t) {
    if (t == Type::pred) return &pred_binary<Op>;
    return pick_bits(t, [](auto z) -> Handler { return &binary<Op, decltype(z)>; });
}
} // namespace

Handler pick_logic(const Form& form, Inst& in) {
    Type t = form.type();
    if (form.mnemonic == "lop3" && form.operands.size() == 6) {
        in.imm = int64_t(form.operands[4].value);
        in.sub = form.has("and");
        return uint64_t(in.imm) > 255 ? nullptr : &lop3_predicate;
    }
    if (in.flags & Inst::not_src) return nullptr;
    if (form.mnemonic == "and") return bitwise<And>(t);
    if (form.mnemonic == "or") return bitwise<Or>(t);
    if (form.mnemonic == "xor") return bitwise<Xor>(t);
    if (form.mnemonic == "not") {
        if (t == Type::pred) return &pred_not;
        return pick_bits(t, [](auto z) -> Handler { return &unary<Not, decltype(z)>; });
    }
    if (form.mnemonic == "cnot") return pick_bits(t, [](auto z) -> Handler { return &unary<Cnot, decltype(z)>; });
    in.imm = int64_t(form.operands[4].value);
    if (uint64_t(in.imm) > 255) return nullptr;
    switch (in.imm) {
    case 0x96: return &lop3<0x96>;
    case 0xea: return &lop3<0xea>;
    case 0xe2: return &lop3<0xe2>;
    case 0x6a: return &lop3<0x6a>;
    default: return &lop3_any;
    }
}

Handler pick_shift(const Form& form, Inst&) {
    Type t = form.type();
    if (form.mnemonic == "shl") return pick_bits(t, [](auto z) -> Handler { return &shl<decltype(z)>; });
    if (form.mnemonic == "shr") return pick_int(t, [](auto z) -> Handler { return &shr<decltype(z)>; });
    bool wrap = form.has("wrap");
    if (form.has("l")) return wrap ? &shf<true, true> : &shf<true, false>;
    return wrap ? &shf<false, true> : &shf<false, false>;
}

} // namespace emu::EMU_LEVEL

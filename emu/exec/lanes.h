// SPDX-License-Identifier: Apache-2.0
// Lane loops that compilers turn into vector code: typed reads and writes of register slots, unary, binary and ternary
// operations with a straight path for a full mask and a blended one otherwise. For handler files only.
#pragma once

#include <type_traits>

#include "handlers.h"

namespace emu::EMU_LEVEL {

template <class T> EMU_INLINE T get(const void* slot, int l) {
    if constexpr (sizeof(T) >= 4) return static_cast<const T*>(slot)[l];
    else return T(static_cast<const uint32_t*>(slot)[l]);
}
template <class T> EMU_INLINE void put(void* slot, int l, T v) {
    if constexpr (sizeof(T) >= 4) static_cast<T*>(slot)[l] = v;
    else if constexpr (sizeof(T) == 2) static_cast<uint32_t*>(slot)[l] = uint16_t(v);
    else static_cast<uint32_t*>(slot)[l] = uint8_t(v);
}
template <class To, class From> EMU_INLINE To bits_as(From v) {
    static_assert(sizeof(To) == sizeof(From));
    To r;
    __builtin_memcpy(&r, &v, sizeof r);
    return r;
}

// d[l] = f(l) for the lanes of the mask. f must be safe for every lane (what it computes elsewhere is dropped).
template <class D, class F> EMU_INLINE Flow map_lanes(Warp& w, uint16_t dst, F f) {
    void* d = w.regs + size_t(dst) * 32;
    uint32_t mask = w.mask;
    if (mask == FULL) {
        EMU_LANES
        for (int l = 0; l < 32; l++) put<D>(d, l, f(l));
    } else {
        // The whole slot is kept in the other lanes: there it may hold a wider register of code that they have reached.
        using Slot = std::conditional_t<sizeof(D) >= 4, D, uint32_t>;
        EMU_LANES
        for (int l = 0; l < 32; l++) {
            const Slot old = get<Slot>(d, l);
            Slot v = old;
            put<D>(&v, 0, f(l));
            put<Slot>(d, l, (mask >> l) & 1 ? v : old);
        }
    }
    return Flow::next;
}
// The same for operations that must not run on dead lanes (division), or that call the library anyway.
template <class D, class F> EMU_INLINE Flow map_active(Warp& w, uint16_t dst, F f) {
    void* d = w.regs + size_t(dst) * 32;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        put<D>(d, l, f(l));
    }
    return Flow::next;
}
// A predicate from a test of each lane.
template <class F> EMU_INLINE uint32_t test_lanes(F f) {
    uint32_t bits = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) bits |= (f(l) ? 1u : 0u) << l;
    return bits;
}
EMU_INLINE void set_pred(Warp& w, uint16_t p, uint32_t bits) { w.preds[p] = (w.preds[p] & ~w.mask) | (bits & w.mask); }

// Handlers from a struct with `static T f(T...)`.
template <class Op, class T> Flow unary(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    return map_lanes<T>(w, in.r[0], [&](int l) { return Op::f(get<T>(a, l)); });
}
template <class Op, class T> Flow binary(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    return map_lanes<T>(w, in.r[0], [&](int l) { return Op::f(get<T>(a, l), get<T>(b, l)); });
}
template <class Op, class T> Flow ternary(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const void* c = w.regs + size_t(in.r[3]) * 32;
    return map_lanes<T>(w, in.r[0], [&](int l) { return Op::f(get<T>(a, l), get<T>(b, l), get<T>(c, l)); });
}

// Choosing by type: pick_int(type, [](auto zero) { return &handler<decltype(zero)>; }).
template <class F> Handler pick_int(Type t, F f) {
    switch (t) {
    case Type::b8:
    case Type::u8: return f(uint8_t());
    case Type::s8: return f(int8_t());
    case Type::b16:
    case Type::u16: return f(uint16_t());
    case Type::s16: return f(int16_t());
    case Type::b32:
    case Type::u32: return f(uint32_t());
    case Type::s32: return f(int32_t());
    case Type::b64:
    case Type::u64: return f(uint64_t());
    case Type::s64: return f(int64_t());
    default: return nullptr;
    }
}
template <class F> Handler pick_bits(Type t, F f) { // by size only
    switch (bytes_of(t)) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return nullptr;
    }
}

} // namespace emu::EMU_LEVEL

// SPDX-License-Identifier: Apache-2.0
// Bit fields and bit counts: bfe bfi brev clz popc bfind fns bmsk szext prmt.
#include <algorithm>
#include <type_traits>

#include "lanes.h"

namespace emu::EMU_LEVEL {
namespace {

template <class T> Flow bfe(Warp& w, const Inst& in) {
    using U = std::make_unsigned_t<T>;
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const uint32_t* pos = w.reg<uint32_t>(in.r[2]);
    const uint32_t* len = w.reg<uint32_t>(in.r[3]);
    constexpr uint32_t BITS = sizeof(T) * 8;
    return map_lanes<T>(w, in.r[0], [&](int l) {
        U v = U(get<T>(a, l));
        uint32_t p = pos[l] & 255, n = len[l] & 255;
        U field = p >= BITS ? U(0) : U(v >> (p & (BITS - 1)));
        uint32_t last = p + n > BITS ? BITS - 1 : (p + n == 0 ? 0 : p + n - 1);
        U sign = std::is_signed_v<T> && n != 0 ? U(v >> (last & (BITS - 1))) & 1 : 0;
        U keep = n >= BITS ? U(~U(0)) : U((U(1) << (n & (BITS - 1))) - 1);
        uint32_t have = p >= BITS ? 0 : BITS - p; // bits of the field that exist
        U exist = have >= BITS ? U(~U(0)) : U((U(1) << (have & (BITS - 1))) - 1);
        U mask = keep & exist;
        return T((field & mask) | (sign ? U(~mask) : U(0)));
    });
}
template <class T> Flow bfi(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const uint32_t* pos = w.reg<uint32_t>(in.r[3]);
    const uint32_t* len = w.reg<uint32_t>(in.r[4]);
    constexpr uint32_t BITS = sizeof(T) * 8;
    return map_lanes<T>(w, in.r[0], [&](int l) {
        uint32_t p = pos[l] & 255, n = len[l] & 255;
        T keep = n >= BITS ? T(~T(0)) : T((T(1) << (n & (BITS - 1))) - 1);
        T mask = p >= BITS ? T(0) : T(keep << (p & (BITS - 1)));
        T field = p >= BITS ? T(0) : T(get<T>(a, l) << (p & (BITS - 1)));
        return T((get<T>(b, l) & ~mask) | (field & mask));
    });
}
template <class T> EMU_INLINE T reversed(T v) {
    T r = 0;
    for (unsigned i = 0; i < sizeof(T) * 8; i++) r = T(r << 1) | T((v >> i) & 1);
    return r;
}
template <class T> Flow brev(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    return map_active<T>(w, in.r[0], [&](int l) { return reversed(get<T>(a, l)); });
}
template <class T> EMU_INLINE uint32_t leading_zeros(T v) {
    if (v == 0) return sizeof(T) * 8;
    return sizeof(T) == 8 ? uint32_t(__builtin_clzll(v)) : uint32_t(__builtin_clz(uint32_t(v)));
}
template <class T> Flow clz(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    return map_active<uint32_t>(w, in.r[0], [&](int l) { return leading_zeros(get<T>(a, l)); });
}
template <class T> Flow popc(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    return map_active<uint32_t>(w, in.r[0], [&](int l) { return uint32_t(__builtin_popcountll(get<T>(a, l))); });
}
template <class T> Flow bfind(Warp& w, const Inst& in) {
    using U = std::make_unsigned_t<T>;
    const void* a = w.regs + size_t(in.r[1]) * 32;
    bool shift = in.sub;
    return map_active<uint32_t>(w, in.r[0], [&](int l) {
        T v = get<T>(a, l);
        U u = std::is_signed_v<T> && v < 0 ? U(~U(v)) : U(v);
        uint32_t zeros = leading_zeros(u);
        if (zeros == sizeof(T) * 8) return ~0u;
        return shift ? zeros : uint32_t(sizeof(T) * 8) - 1 - zeros;
    });
}
Flow fns(Warp& w, const Inst& in) {
    const uint32_t* mask = w.reg<uint32_t>(in.r[1]);
    const uint32_t* base = w.reg<uint32_t>(in.r[2]);
    const int32_t* offset = w.reg<int32_t>(in.r[3]);
    return map_active<uint32_t>(w, in.r[0], [&](int l) -> uint32_t {
        int step = offset[l] > 0 ? 1 : -1, left = offset[l] > 0 ? offset[l] : -offset[l], at = int(base[l] & 31);
        if (offset[l] == 0) return (mask[l] >> at) & 1 ? uint32_t(at) : ~0u;
        for (; at >= 0 && at < 32; at += step)
            if ((mask[l] >> at) & 1 && --left == 0) return uint32_t(at);
        return ~0u;
    });
}
template <bool WRAP> Flow bmsk(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t p = WRAP ? a[l] & 31 : a[l], n = WRAP ? b[l] & 31 : b[l];
        uint64_t ones = n >= 32 ? 0xffffffffull : (1ull << n) - 1;
        return p >= 32 ? 0u : uint32_t(ones << p);
    });
}
template <bool WRAP, class T> Flow szext(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    return map_lanes<T>(w, in.r[0], [&](int l) {
        uint32_t n = WRAP ? b[l] & 31 : b[l];
        if (n >= 32) return a[l];
        if (n == 0) return T(0);
        return T(T(uint32_t(a[l]) << (32 - n)) >> (32 - n));
    });
}

// Inst::sub: which of a, b and d are signed, what becomes of the distances.
enum Distance : uint8_t { A_SIGNED = 1, B_SIGNED = 2, D_SIGNED = 4, CLAMPED = 8, SUMMED = 16 };
Flow vabsdiff4(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    auto byte = [](uint32_t v, unsigned i, bool sign) {
        return sign ? int(int8_t(v >> (8 * i))) : int(uint8_t(v >> (8 * i)));
    };
    const int most = !(in.sub & CLAMPED) ? 511 : in.sub & D_SIGNED ? 127 : 255;
    return map_active<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t sum = c[l], bytes = 0;
        for (unsigned i = 0; i < 4; i++) {
            const int apart = byte(a[l], i, in.sub & A_SIGNED) - byte(b[l], i, in.sub & B_SIGNED);
            const uint32_t distance = uint32_t(std::min(apart < 0 ? -apart : apart, most));
            sum += distance;
            bytes |= (distance & 255) << (8 * i);
        }
        return in.sub & SUMMED ? sum : bytes;
    });
}

// Byte i of the selector picks a byte of {b, a}; bit 3 replicates its sign.
template <class F> EMU_INLINE Flow permute(Warp& w, const Inst& in, F selector) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint64_t pair = uint64_t(b[l]) << 32 | a[l];
        uint32_t sel = selector(c[l]), r = 0;
        for (int i = 0; i < 4; i++) {
            uint32_t s = (sel >> (4 * i)) & 15;
            uint32_t byte = uint32_t(pair >> ((s & 7) * 8)) & 255;
            uint32_t sign = 0u - (byte >> 7);
            r |= ((s & 8 ? sign : byte) & 255) << (8 * i);
        }
        return r;
    });
}
Flow prmt(Warp& w, const Inst& in) {
    return permute(w, in, [](uint32_t c) { return c; });
}
Flow prmt_mode(Warp& w, const Inst& in) {
    static constexpr uint16_t TABLE[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
        {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
        {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
        {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
        {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
        {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
    };
    return permute(w, in, [&](uint32_t c) { return uint32_t(TABLE[in.sub][c & 3]); });
}
} // namespace

Handler pick_bits(const Form& form, Inst& in) {
    Type t = form.type();
    std::string_view m = form.mnemonic;
    if (m == "bfe") return pick_int(t, [](auto z) -> Handler { return &bfe<decltype(z)>; });
    if (m == "bfi") return bytes_of(t) == 8 ? &bfi<uint64_t> : &bfi<uint32_t>;
    if (m == "brev") return bytes_of(t) == 8 ? &brev<uint64_t> : &brev<uint32_t>;
    if (m == "clz") return bytes_of(t) == 8 ? &clz<uint64_t> : &clz<uint32_t>;
    if (m == "popc") return bytes_of(t) == 8 ? &popc<uint64_t> : &popc<uint32_t>;
    if (m == "bfind") {
        in.sub = form.has("shiftamt");
        return pick_int(t, [](auto z) -> Handler { return &bfind<decltype(z)>; });
    }
    if (m == "fns") return &fns;
    if (m == "vabsdiff4") {
        in.sub = uint8_t((is_signed(form.type(0)) ? D_SIGNED : 0) | (is_signed(form.type(1)) ? A_SIGNED : 0) |
                         (is_signed(form.type(2)) ? B_SIGNED : 0) | (form.has("sat") ? CLAMPED : 0) |
                         (form.has("add") ? SUMMED : 0));
        return &vabsdiff4;
    }
    bool wrap = form.has("wrap");
    if (m == "bmsk") return wrap ? &bmsk<true> : &bmsk<false>;
    if (m == "szext") {
        if (is_signed(t)) return wrap ? &szext<true, int32_t> : &szext<false, int32_t>;
        return wrap ? &szext<true, uint32_t> : &szext<false, uint32_t>;
    }
    const std::string_view modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    for (uint8_t i = 0; i < 6; i++) {
        if (!form.has(modes[i])) continue;
        in.sub = i;
        return &prmt_mode;
    }
    return &prmt;
}

} // namespace emu::EMU_LEVEL

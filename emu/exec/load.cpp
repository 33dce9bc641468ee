// SPDX-License-Identifier: Apache-2.0
// Loads from every space, one to eight elements for each lane, widened to the register when it is wider.
#include <algorithm>

#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

// in.r: destinations, address. in.sub bit 0: 64-bit address register, bit 2: sign-extend. in.target: space and bytes of
// the destination register. The common case first: 4 or 8 bytes into registers of that size.
template <class T, int VEC, Space SPACE> Flow load(Warp& w, const Inst& in) {
    alignas(64) AddressIn<SPACE> addr[32];
    read_addresses(w, in.r[VEC], in.imm, in.sub & 1, addr);
    uint32_t undefined = 0;
    T* dst[VEC];
    for (int i = 0; i < VEC; i++) dst[i] = w.reg<T>(in.r[i]);
    if (!move_lanes<SPACE, false, VEC>(w, addr, &undefined, dst)) return Flow::failed;
    uint64_t room[32];
    if (__builtin_expect(undefined != 0, 0))
        taint_loaded(w, in, SPACE, undefined, widen(addr, room), VEC, sizeof(T), false);
    if (in.order.acquires()) host_fence();
    return Flow::next;
}
// Elements of one or two bytes in registers of up to four.
template <class T, int VEC, Space SPACE> Flow load_narrow(Warp& w, const Inst& in) {
    alignas(64) AddressIn<SPACE> addr[32];
    read_addresses(w, in.r[VEC], in.imm, in.sub & 1, addr);
    const uint32_t kept = ~0u >> (32 - 8 * (in.target & 15));
    uint32_t undefined = 0;
    uint32_t* dst[VEC];
    for (int i = 0; i < VEC; i++) dst[i] = w.reg<uint32_t>(in.r[i]);
    auto one = [&](int l, const uint8_t* from) {
        T v[VEC];
        __builtin_memcpy(v, from, sizeof v);
        for (int i = 0; i < VEC; i++) dst[i][l] = uint32_t(int32_t(v[i])) & kept;
    };
    if (!visit_named<SPACE, false>(w, addr, sizeof(T) * VEC, &undefined, one)) return Flow::failed;
    uint64_t room[32];
    if (undefined) taint_loaded(w, in, SPACE, undefined, widen(addr, room), VEC, sizeof(T), in.sub & 4);
    if (in.order.acquires()) host_fence();
    return Flow::next;
}
EMU_INLINE uint64_t read_bytes(const uint8_t* from, unsigned bytes, bool sign) {
    switch (bytes) {
    case 1: return sign ? uint64_t(int64_t(int8_t(*from))) : *from;
    case 2: {
        uint16_t v;
        __builtin_memcpy(&v, from, 2);
        return sign ? uint64_t(int64_t(int16_t(v))) : v;
    }
    case 4: {
        uint32_t v;
        __builtin_memcpy(&v, from, 4);
        return sign ? uint64_t(int64_t(int32_t(v))) : v;
    }
    default: {
        uint64_t v;
        __builtin_memcpy(&v, from, 8);
        return v;
    }
    }
}
EMU_INLINE uint32_t register_word(uint64_t v, unsigned bytes) {
    return bytes == 4 ? uint32_t(v) : bytes == 2 ? uint16_t(v) : uint8_t(v);
}
EMU_INLINE void put_bytes(Warp& w, uint16_t slot, int l, uint64_t v, unsigned bytes) {
    if (bytes == 8) w.reg<uint64_t>(slot)[l] = v;
    else w.reg<uint32_t>(slot)[l] = register_word(v, bytes);
}
// Every other type and space.
Flow load_any(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    unsigned vec = in.vec, bytes = in.bytes, reg_bytes = in.target & 15;
    auto space = Space(in.target >> 4);
    bool sign = in.sub & 4;
    read_addresses(w, in.r[vec], in.imm, in.sub & 1, addr);
    uint32_t undefined = 0;
    bool ok = visit_any<false>(w, space, addr, bytes * vec, &undefined, [&](int l, const uint8_t* from) {
        for (unsigned i = 0; i < vec; i++)
            put_bytes(w, in.r[i], l, read_bytes(from + i * bytes, bytes, sign), reg_bytes);
    });
    if (!ok) return Flow::failed;
    if (undefined) taint_loaded(w, in, space, undefined, addr, vec, bytes, sign);
    if (in.order.acquires()) host_fence();
    return Flow::next;
}
// One 16-byte register a lane.
Flow load128(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    auto space = Space(in.target >> 4);
    read_addresses(w, in.r[1], in.imm, in.sub & 1, addr);
    uint32_t undefined = 0;
    B128* dst = w.reg<B128>(in.r[0]);
    if (!visit_any<false>(w, space, addr, 16, &undefined,
                          [&](int l, const uint8_t* from) { __builtin_memcpy(dst + l, from, 16); }))
        return Flow::failed;
    if (undefined) taint_loaded(w, in, space, undefined, addr, 1, 16, false);
    if (in.order.acquires()) host_fence();
    return Flow::next;
}
// The parameters at `from`, in all lanes.
void spread_param(Warp& w, const Inst& in, const uint8_t* from) {
    const unsigned reg_bytes = in.target & 15;
    for (unsigned i = 0; i < in.vec; i++) {
        const uint64_t v = read_bytes(from + i * in.bytes, in.bytes, in.sub & 4);
        if (reg_bytes == 8) std::fill_n(w.reg<uint64_t>(in.r[i]), 32, v);
        else std::fill_n(w.reg<uint32_t>(in.r[i]), 32, register_word(v, reg_bytes));
    }
}
template <class T> EMU_INLINE bool all_alike(const T* v) {
    T differs = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) differs |= v[l] ^ v[0];
    return !differs;
}
// The same for all lanes unless the address is computed.
template <bool COMPUTED> EMU_INLINE bool is_one_param(const Warp& w, const Inst& in, uint64_t& at) {
    const uint32_t* narrow = w.reg<uint32_t>(in.r[in.vec]);
    const uint64_t* wide = w.reg<uint64_t>(in.r[in.vec]);
    if (!w.full() || in.bytes == 16) return false;
    if (COMPUTED && !(in.sub & 1 ? all_alike(wide) : all_alike(narrow))) return false;
    at = in.sub & 1 ? wide[0] + uint64_t(in.imm) : uint32_t(narrow[0] + uint32_t(in.imm));
    const uint32_t size = w.kernel->info.param_bytes, bytes = in.bytes * in.vec;
    return at <= size && size - at >= bytes && at % bytes == 0;
}
template <bool COMPUTED> Flow load_param(Warp& w, const Inst& in) {
    unsigned vec = in.vec, each = in.bytes, reg_bytes = in.target & 15, bytes = each * vec;
    if (uint64_t at; is_one_param<COMPUTED>(w, in, at)) {
        spread_param(w, in, w.launch->params + at);
        return Flow::next;
    }
    alignas(64) uint64_t addr[32];
    read_addresses(w, in.r[vec], in.imm, in.sub & 1, addr);
    const bool ok = visit_param(w, addr, w.mask, bytes, [&](int l, const uint8_t* from) {
        if (each == 16) __builtin_memcpy(w.reg<B128>(in.r[0]) + l, from, 16);
        for (unsigned i = 0; i < vec && each < 16; i++)
            put_bytes(w, in.r[i], l, read_bytes(from + i * each, each, in.sub & 4), reg_bytes);
    });
    return ok ? Flow::next : Flow::failed;
}

template <class T> Handler fast(Space space, unsigned vec) {
    bool shared = space == Space::shared;
    switch (vec) {
    case 1: return shared ? &load<T, 1, Space::shared> : &load<T, 1, Space::global>;
    case 2: return shared ? &load<T, 2, Space::shared> : &load<T, 2, Space::global>;
    case 4: return shared ? &load<T, 4, Space::shared> : &load<T, 4, Space::global>;
    default: return shared ? nullptr : &load<T, 8, Space::global>;
    }
}
template <class T> Handler narrow(Space space, unsigned vec) {
    const bool shared = space == Space::shared;
    switch (vec) {
    case 1: return shared ? &load_narrow<T, 1, Space::shared> : &load_narrow<T, 1, Space::global>;
    case 2: return shared ? &load_narrow<T, 2, Space::shared> : &load_narrow<T, 2, Space::global>;
    case 4: return shared ? &load_narrow<T, 4, Space::shared> : &load_narrow<T, 4, Space::global>;
    default: return nullptr;
    }
}
} // namespace

Handler pick_ld(const Form& form, Inst& in) {
    const Operand& address = form.operands[1];
    const Operand& first = form.operands[0].parts[0];
    unsigned bytes = bytes_of(first.type), vec = in.vec;
    in.imm = int64_t(address.value);
    in.sub = uint8_t((bytes_of(address.type) == 8 ? 1 : 0) | (is_signed(form.type()) ? 4 : 0));
    if (form.space != Space::param && form.space != Space::local && form.space != Space::constant)
        in.access = Inst::reads;
    in.target = (bytes & 15) | uint32_t(form.space) << 4; // 16 bytes: 0, for load128 alone
    bool wide_space = (form.space == Space::global || form.space == Space::generic) && form.mnemonic != "ldu";
    if (form.has("L2::evict_normal") || form.has("L2::evict_first") || form.has("L2::evict_last"))
        if (unsigned(in.bytes) * vec != 32) return nullptr;
    if (vec == 8 && in.bytes != 4) return nullptr;
    if (unsigned(in.bytes) * vec > (wide_space ? 32u : 16u)) return nullptr;
    const Handler param = address.name.empty() ? &load_param<false> : &load_param<true>; // empty: of no register
    if (form.type() == Type::b128) return vec > 1 ? nullptr : form.space == Space::param ? param : &load128;
    for (const Operand& part : form.operands[0].parts)
        if (bytes_of(part.type) != bytes) return nullptr;
    if (form.space == Space::param) return param;
    if (bytes == in.bytes && (form.space == Space::shared || form.space == Space::global)) {
        if (bytes == 4) return fast<uint32_t>(form.space, vec);
        if (bytes == 8 && vec <= 4) return fast<uint64_t>(form.space, vec);
    }
    if (in.bytes <= 2 && bytes <= 4 && vec <= 4 && (form.space == Space::shared || form.space == Space::global)) {
        if (in.bytes == 2) return in.sub & 4 ? narrow<int16_t>(form.space, vec) : narrow<uint16_t>(form.space, vec);
        return in.sub & 4 ? narrow<int8_t>(form.space, vec) : narrow<uint8_t>(form.space, vec);
    }
    return &load_any;
}

} // namespace emu::EMU_LEVEL

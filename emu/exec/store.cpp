// SPDX-License-Identifier: Apache-2.0
// Stores to every space that can be written, one to eight elements for each lane.
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

// in.r: address, sources. in.sub bit 0: 64-bit address register. in.target: space and bytes of the register.
template <class T, int VEC, Space SPACE> Flow store(Warp& w, const Inst& in) {
    alignas(64) AddressIn<SPACE> addr[32];
    read_addresses(w, in.r[0], in.imm, in.sub & 1, addr);
    if (in.order.releases()) host_fence();
    uint32_t undefined = 0;
    T* src[VEC];
    for (int i = 0; i < VEC; i++) src[i] = w.reg<T>(in.r[1 + i]);
    bool ok = move_lanes<SPACE, true, VEC>(w, addr, &undefined, src);
    uint64_t room[32];
    if (ok && __builtin_expect(w.tainted != 0, 0)) ok = taint_stored(w, in, widen(addr, room), VEC, sizeof(T));
    return ok ? Flow::next : Flow::failed;
}
// Every other type and space; the low bytes of the register are stored.
Flow store_any(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    unsigned vec = in.vec, bytes = in.bytes;
    bool wide = store_register_bytes(in) == 8;
    read_addresses(w, in.r[0], in.imm, in.sub & 1, addr);
    if (in.order.releases()) host_fence();
    uint32_t undefined = 0;
    bool ok = visit_any<true>(w, Space(in.target >> 4), addr, bytes * vec, &undefined, [&](int l, uint8_t* to) {
        for (unsigned i = 0; i < vec; i++) {
            uint64_t v = wide ? w.reg<uint64_t>(in.r[1 + i])[l] : w.reg<uint32_t>(in.r[1 + i])[l];
            for (unsigned b = 0; b < bytes; b++) to[i * bytes + b] = uint8_t(v >> (8 * b));
        }
    });
    if (ok && w.tainted) ok = taint_stored(w, in, addr, vec, bytes);
    return ok ? Flow::next : Flow::failed;
}
Flow store128(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    read_addresses(w, in.r[0], in.imm, in.sub & 1, addr);
    if (in.order.releases()) host_fence();
    uint32_t undefined = 0;
    const B128* src = w.reg<B128>(in.r[1]);
    bool ok = visit_any<true>(w, Space(in.target >> 4), addr, 16, &undefined,
                              [&](int l, uint8_t* to) { __builtin_memcpy(to, src + l, 16); });
    if (ok && w.tainted) ok = taint_stored(w, in, addr, 1, 16);
    return ok ? Flow::next : Flow::failed;
}

template <class T> Handler fast(Space space, unsigned vec) {
    bool shared = space == Space::shared;
    switch (vec) {
    case 1: return shared ? &store<T, 1, Space::shared> : &store<T, 1, Space::global>;
    case 2: return shared ? &store<T, 2, Space::shared> : &store<T, 2, Space::global>;
    case 4: return shared ? &store<T, 4, Space::shared> : &store<T, 4, Space::global>;
    default: return shared ? nullptr : &store<T, 8, Space::global>;
    }
}
} // namespace

Handler pick_st(const Form& form, Inst& in) {
    const Operand& address = form.operands[0];
    unsigned vec = in.vec, bytes = 0;
    for (const Operand& part : form.operands[1].parts) {
        unsigned have = bytes_of(part.type);
        if (bytes && (bytes == 8) != (have == 8)) return nullptr;
        bytes = have;
    }
    in.imm = int64_t(address.value);
    in.sub = bytes_of(address.type) == 8 ? 1 : 0;
    in.target = store_target(bytes, form.space);
    in.access = Inst::writes;
    bool wide_space = form.space == Space::global || form.space == Space::generic;
    if (form.has("L2::evict_normal") || form.has("L2::evict_first") || form.has("L2::evict_last"))
        if (unsigned(in.bytes) * vec != 32) return nullptr;
    if (vec == 8 && in.bytes != 4) return nullptr;
    if (unsigned(in.bytes) * vec > (wide_space ? 32u : 16u)) return nullptr;
    if (form.type() == Type::b128) return vec == 1 ? &store128 : nullptr;
    if (bytes == in.bytes && (form.space == Space::shared || form.space == Space::global)) {
        if (bytes == 4) return fast<uint32_t>(form.space, vec);
        if (bytes == 8 && vec <= 4) return fast<uint64_t>(form.space, vec);
    }
    return &store_any;
}

} // namespace emu::EMU_LEVEL

// SPDX-License-Identifier: Apache-2.0
// Where a lane's address leads: the address spaces behind one loop, used by loads, stores and atomics.
// Generic addresses are split by window, one space at a time.
#pragma once

#include <algorithm>

#include "access.h"
#include "lanes.h"
#include "peers.h"

namespace emu::EMU_LEVEL {

// Addresses of one instruction: the register plus the offset, 64 bits wide whatever the register is.
EMU_INLINE void read_addresses(const Warp& w, uint16_t slot, int64_t offset, bool wide, uint64_t* out) {
    if (wide) {
        const uint64_t* a = w.reg<uint64_t>(slot);
        EMU_LANES
        for (int l = 0; l < 32; l++) out[l] = a[l] + uint64_t(offset);
    } else {
        const uint32_t* a = w.reg<uint32_t>(slot);
        EMU_LANES
        for (int l = 0; l < 32; l++) out[l] = uint32_t(a[l] + uint32_t(offset));
    }
}

// Instructions with several addresses keep their offsets in the Extra, and in bit n of sub whether the register of the
// nth has 64 bits.
inline void keep_addresses(const Form& form, Inst& in) {
    for (const Operand& o : form.operands) {
        if (o.kind != Operand::address) continue;
        if (bytes_of(o.type) == 8) in.sub |= uint8_t(1u << form.more->imm.size());
        form.more->imm.push_back(int64_t(o.value));
    }
}
// The nth of them; its register is operand `at`.
inline uint64_t nth_address(const Warp& w, const Inst& in, unsigned nth, unsigned at, int l) {
    const int64_t offset = w.kernel->extras[in.extra].imm[nth];
    if (in.sub >> nth & 1) return w.reg<uint64_t>(in.r[at])[l] + uint64_t(offset);
    return uint32_t(w.reg<uint32_t>(in.r[at])[l] + uint32_t(offset));
}

EMU_INLINE uint32_t lanes_in(const uint64_t* addr, uint64_t base, uint64_t bytes) {
    return test_lanes([&](int l) { return addr[l] - base < bytes; });
}

// The checks, once for each size, out of line: handlers that only differ in where the data goes share them.
template <unsigned BYTES, bool WRITE>
__attribute__((noinline)) bool shared_gate(Warp& w, const uint32_t* addr, uint32_t mask, uint32_t* undefined) {
    if (!check_shared(w, addr, mask, BYTES, WRITE, undefined)) return false;
    if (WRITE) define_shared(w, addr, mask, BYTES);
    return true;
}
template <unsigned BYTES, bool WRITE>
__attribute__((noinline)) bool global_gate(Warp& w, const uint64_t* addr, uint32_t mask, uint32_t* undefined) {
    return check_global(w, addr, mask, BYTES, WRITE, undefined);
}
template <bool WRITE>
bool shared_gate(Warp& w, const uint32_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined) {
    switch (bytes) {
    case 1: return shared_gate<1, WRITE>(w, addr, mask, undefined);
    case 2: return shared_gate<2, WRITE>(w, addr, mask, undefined);
    case 4: return shared_gate<4, WRITE>(w, addr, mask, undefined);
    case 8: return shared_gate<8, WRITE>(w, addr, mask, undefined);
    default: return shared_gate<16, WRITE>(w, addr, mask, undefined);
    }
}
template <bool WRITE>
bool global_gate(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined) {
    switch (bytes) {
    case 1: return global_gate<1, WRITE>(w, addr, mask, undefined);
    case 2: return global_gate<2, WRITE>(w, addr, mask, undefined);
    case 4: return global_gate<4, WRITE>(w, addr, mask, undefined);
    case 8: return global_gate<8, WRITE>(w, addr, mask, undefined);
    case 16: return global_gate<16, WRITE>(w, addr, mask, undefined);
    default: return global_gate<32, WRITE>(w, addr, mask, undefined);
    }
}

// Addresses of shared memory; 0, which is in no variable, for what can be none.
EMU_INLINE void narrow(const uint64_t* addr, uint32_t* out) {
    EMU_LANES
    for (int l = 0; l < 32; l++) out[l] = addr[l] > UINT32_MAX ? 0 : uint32_t(addr[l]);
}
// The same addresses in 64 bits, in `room` if they are not.
EMU_INLINE const uint64_t* widen(const uint64_t* addr, uint64_t*) { return addr; }
EMU_INLINE const uint64_t* widen(const uint32_t* addr, uint64_t* room) {
    EMU_LANES
    for (int l = 0; l < 32; l++) room[l] = addr[l];
    return room;
}
// As an instruction that names its space holds them.
template <Space SPACE> using AddressIn = std::conditional_t<SPACE == Space::shared, uint32_t, uint64_t>;
EMU_INLINE void read_addresses(const Warp& w, uint16_t slot, int64_t offset, bool wide, uint32_t* out) {
    if (wide) {
        alignas(64) uint64_t addr[32];
        read_addresses(w, slot, offset, true, addr);
        narrow(addr, out);
    } else {
        const uint32_t* a = w.reg<uint32_t>(slot);
        EMU_LANES
        for (int l = 0; l < 32; l++) out[l] = a[l] + uint32_t(offset);
    }
}
// Calls f(lane, pointer) for each lane after the checks. Returns false after a report.
template <bool WRITE, class F>
EMU_INLINE bool visit_shared(Warp& w, const uint32_t* a, uint32_t mask, unsigned bytes, uint32_t* undefined, F f) {
    if (!shared_gate<WRITE>(w, a, mask, bytes, undefined)) return false;
    uint8_t* shared = w.cta->shared;
    if (mask == FULL)
        for (int l = 0; l < 32; l++) f(l, shared + a[l]);
    else
        for (uint32_t m = mask; m; m &= m - 1) f(__builtin_ctz(m), shared + a[__builtin_ctz(m)]);
    return true;
}
template <bool WRITE, class F>
EMU_INLINE bool visit_shared(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined, F f) {
    uint32_t a[32];
    narrow(addr, a);
    return visit_shared<WRITE>(w, a, mask, bytes, undefined, f);
}
template <bool WRITE, class F>
EMU_INLINE bool visit_global(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined, F f) {
    if (!global_gate<WRITE>(w, addr, mask, bytes, undefined)) return false;
    for (uint32_t m = mask; m; m &= m - 1) f(__builtin_ctz(m), reinterpret_cast<uint8_t*>(addr[__builtin_ctz(m)]));
    return true;
}
// Of a space that is known when the text is loaded.
template <Space SPACE, bool WRITE, class F>
EMU_INLINE bool visit_named(Warp& w, const AddressIn<SPACE>* addr, unsigned bytes, uint32_t* undefined, F f) {
    if constexpr (SPACE == Space::shared) return visit_shared<WRITE>(w, addr, w.mask, bytes, undefined, f);
    else return visit_global<WRITE>(w, addr, w.mask, bytes, undefined, f);
}
template <bool WRITE, class T> EMU_INLINE void move_bytes(T* lane, uint8_t* at, size_t bytes) {
    if constexpr (WRITE) __builtin_memcpy(at, lane, bytes);
    else __builtin_memcpy(lane, at, bytes);
}
// Four words of each lane, between where they lie and four registers: four lanes at once.
template <bool WRITE, class F> EMU_INLINE void move_quads(F at, uint32_t* const* regs) {
    typedef uint32_t Quad __attribute__((vector_size(16)));
    for (int l = 0; l < 32; l += 4) {
        Quad v[4];
        for (int i = 0; i < 4; i++) __builtin_memcpy(&v[i], WRITE ? static_cast<void*>(regs[i] + l) : at(l + i), 16);
        const Quad low01 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
                   low23 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
        const Quad high01 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7),
                   high23 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
        v[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
        v[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
        v[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
        v[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
        for (int i = 0; i < 4; i++) __builtin_memcpy(WRITE ? at(l + i) : static_cast<void*>(regs[i] + l), &v[i], 16);
    }
}
// A loop's next load mostly lies as far behind this one as this one behind the last: the host's caches can have its
// bytes by then. No address is too wild for a prefetch.
EMU_INLINE void fetch_next(GlobalPattern& p, const uint64_t* addr) {
    const uint64_t step = addr[0] - p.first;
    p.first = addr[0];
    for (int l = 0; l < 32; l += 4) __builtin_prefetch(reinterpret_cast<const void*>(addr[l] + step));
    for (int l = 2; !p.fours && l < 32; l += 4) __builtin_prefetch(reinterpret_cast<const void*>(addr[l] + step));
}
// VEC elements of each lane, one after the other in memory, to or from as many registers.
template <Space SPACE, bool WRITE, int VEC, class T>
EMU_INLINE bool move_lanes(Warp& w, const AddressIn<SPACE>* addr, uint32_t* undefined, T* const* regs) {
    constexpr unsigned BYTES = sizeof(T) * VEC;
    const uint32_t mask = w.mask;
    const auto at = [base = w.cta->shared, addr](int l) {
        if constexpr (SPACE == Space::shared) return base + addr[l];
        else return reinterpret_cast<uint8_t*>(addr[l]);
    };
    const auto one = [&](int l) {
        for (int i = 0; i < VEC; i++) move_bytes<WRITE>(regs[i] + l, at(l) + i * sizeof(T), sizeof(T));
    };
    bool run;
    if constexpr (SPACE == Space::shared) {
        if (!shared_gate<BYTES, WRITE>(w, addr, mask, undefined)) return false;
        run = w.cta->pattern(w).run;
    } else {
        if (!global_gate<BYTES, WRITE>(w, addr, mask, undefined)) return false;
        run = w.cta->global_pattern(w).run;
        if constexpr (!WRITE && BYTES >= 16) fetch_next(w.cta->global_pattern(w), addr);
    }
    if (VEC == 1 && run) {
        move_bytes<WRITE>(regs[0], at(0), 32 * sizeof(T));
    } else if (mask == FULL) {
        if constexpr (VEC == 4 && sizeof(T) == 4) move_quads<WRITE>(at, regs);
        else
            for (int l = 0; l < 32; l++) one(l);
    } else {
        for (uint32_t m = mask; m; m &= m - 1) one(__builtin_ctz(m));
    }
    return true;
}
// Local memory knows which bits are undefined. What is stored is defined, until taint_stored says otherwise. No change
// that others could see (Cta::changes).
template <bool WRITE, class F>
bool visit_local(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined, F f) {
    const uint64_t room = w.kernel->local_bytes;
    const std::vector<uint32_t>& inside = w.kernel->local_inside;
    *undefined = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t a = addr[l], last = a + bytes - 1;
        if (a >= room || room - a < bytes || a & (bytes - 1)) return local_fault(w, l, a, bytes, WRITE);
        // no variable is so near to the next that an access could reach across
        if (!inside.empty() && !(inside[a / 32] >> a % 32 & inside[last / 32] >> last % 32 & 1))
            return local_fault(w, l, a, bytes, WRITE);
        const uint64_t at = uint64_t(l) * room + a;
        f(l, w.local + at);
        if (WRITE) memset(w.local_undefined + at, 0, bytes);
        else if (std::any_of(w.local_undefined + at, w.local_undefined + at + bytes, [](uint8_t bits) { return bits; }))
            *undefined |= 1u << l;
    }
    if (*undefined) note_undefined(w, Space::local, addr[__builtin_ctz(*undefined)]);
    return true;
}
// The kernel's parameters, which nobody writes.
template <class F> bool visit_param(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, F f) {
    const uint64_t room = w.kernel->info.param_bytes;
    for (uint32_t m = mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t a = addr[l];
        if (a > room || room - a < bytes || a & (bytes - 1)) return param_fault(w, l, a, bytes);
        f(l, w.launch->params + a);
    }
    return true;
}
// The shared memory of any block of the cluster, one request for each block.
template <bool WRITE, class F>
bool visit_cluster(Warp& w, const uint64_t* addr, uint32_t mask, unsigned bytes, uint32_t* undefined, F f) {
    *undefined = 0;
    if (w.own->cluster->blocks.size() == 1) return visit_shared<WRITE>(w, addr, mask, bytes, undefined, f);
    return each_block(w, addr, mask, bytes, WRITE, [&](uint32_t lanes, const uint64_t* at) {
        uint32_t some = 0;
        if (!visit_shared<WRITE>(w, at, lanes, bytes, &some, f)) return false;
        *undefined |= some;
        return true;
    });
}
// Any space, decided at run time; a generic access is split by window, each part one request.
template <bool WRITE, class F>
bool visit_any(Warp& w, Space space, const uint64_t* addr, unsigned bytes, uint32_t* undefined, F f) {
    if (space == Space::shared) return visit_shared<WRITE>(w, addr, w.mask, bytes, undefined, f);
    if (space == Space::global || space == Space::constant)
        return visit_global<WRITE>(w, addr, w.mask, bytes, undefined, f);
    if (space == Space::cluster) return visit_cluster<WRITE>(w, addr, w.mask, bytes, undefined, f);
    if (space == Space::local) return visit_local<WRITE>(w, addr, w.mask, bytes, undefined, f);
    uint32_t left = w.mask, none = 0;
    *undefined = 0;
    const uint32_t shared = lanes_in(addr, SHARED_WINDOW, WINDOW_BYTES) & left,
                   local = lanes_in(addr, LOCAL_WINDOW, WINDOW_BYTES) & left,
                   param = WRITE ? 0 : lanes_in(addr, PARAM_WINDOW, WINDOW_BYTES) & left;
    if (const uint32_t global = left & ~(shared | local | param)) {
        if (!visit_global<WRITE>(w, addr, global, bytes, &none, f)) return false;
        *undefined |= none;
    }
    if (!(shared | local | param)) return true;
    uint64_t inside[32];
    EMU_LANES
    for (int l = 0; l < 32; l++) inside[l] = addr[l] & (WINDOW_BYTES - 1);
    none = 0;
    if (shared && !visit_cluster<WRITE>(w, inside, shared, bytes, &none, f)) return false;
    *undefined |= none;
    if (local && !visit_local<WRITE>(w, inside, local, bytes, &none, f)) return false;
    *undefined |= local ? none : 0;
    if constexpr (!WRITE) return !param || visit_param(w, inside, param, bytes, f);
    return true;
}

struct B128 {
    uint64_t lo, hi;
};

} // namespace emu::EMU_LEVEL

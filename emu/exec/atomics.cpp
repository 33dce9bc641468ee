// SPDX-License-Identifier: Apache-2.0
// atom and red: 16 to 64 bits, integers and floats, shared and global. Lanes go one after the other; under a random
// schedule they start at a seeded lane, since the card promises no order.
#include <cmath>
#include <type_traits>

#include "half.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

enum class Do : uint8_t { add, min, max, exch, and_, or_, xor_, inc, dec, cas };

template <class T> EMU_INLINE T step(Do op, T old, T a, T b) {
    switch (op) {
    case Do::add:
        if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(a));
        else {
            T sum = old + a;
            return sum == sum ? sum : T(NAN);
        }
    case Do::min: return a < old ? a : old;
    case Do::max: return a > old ? a : old;
    case Do::exch: return a;
    case Do::inc: return old >= a ? T(0) : T(old + 1);
    case Do::dec: return old == 0 || old > a ? a : T(old - 1);
    case Do::cas: return old == a ? b : old;
    default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (op == Do::and_) return old & a;
        if (op == Do::or_) return old | a;
        if (op == Do::xor_) return old ^ a;
    }
    return old;
}
// Blocks may run on several host threads, so every change is a compare-and-swap. An atomic that leaves the value as it
// is (a lock that is taken, a flag that is only read) has changed nothing: a warp that spins on it waits.
template <class T> T change(Cta& cta, uint8_t* at, bool shared, Do op, T a, T b) {
    if (shared) { // nobody else runs this cluster
        T old;
        memcpy(&old, at, sizeof old);
        const T now = step(op, old, a, b);
        cta.changes += memcmp(&old, &now, sizeof old) != 0;
        memcpy(at, &now, sizeof now);
        return old;
    }
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    auto* p = reinterpret_cast<Bits*>(at);
    Bits seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    for (;;) {
        T old = bits_as<T>(seen), now = step(op, old, a, b);
        if (!__atomic_compare_exchange_n(p, &seen, bits_as<Bits>(now), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        cta.changes += bits_as<Bits>(now) != seen;
        return old;
    }
}
template <bool BF, bool PACKED> uint32_t add_halves(Cta& cta, uint8_t* at, uint32_t a) {
    using Bits = std::conditional_t<PACKED, uint32_t, uint16_t>;
    auto* p = reinterpret_cast<Bits*>(at);
    Bits seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    for (;;) {
        uint32_t now = narrow<BF>(widen<BF>(seen) + widen<BF>(a));
        if (PACKED) now |= narrow<BF>(widen<BF>(uint32_t(seen) >> 16) + widen<BF>(a >> 16)) << 16;
        if (!__atomic_compare_exchange_n(p, &seen, Bits(now), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        cta.changes += Bits(now) != seen;
        return seen;
    }
}

// The lanes of the mask in the order of this launch.
template <class F> void in_order(Warp& w, uint32_t mask, F f) {
    unsigned first = w.launch->options.schedule == Schedule::random ? unsigned(next_random(w.rng) & 31) : 0;
    for (unsigned i = 0; i < 32; i++) {
        unsigned l = (first + i) & 31;
        if ((mask >> l) & 1) f(l);
    }
}

// Checks a read and a write of locations in the shared memory of one block. False after a report.
bool shared_locations(Warp& w, const uint64_t* addr, uint32_t lanes, unsigned bytes, uint8_t** at) {
    uint32_t a[32], undefined = 0;
    for (int l = 0; l < 32; l++) a[l] = uint32_t(addr[l]);
    if (!place_shared(w, a, lanes, bytes, false, &undefined)) return false; // one atomic, not a read and a write
    if (w.cta->observer && !w.cta->observer->shared_atomic(w, lanes, a, bytes)) return false;
    for (uint32_t m = lanes; m; m &= m - 1) at[__builtin_ctz(m)] = w.cta->shared + a[__builtin_ctz(m)];
    return !undefined || taint_atomic(w, undefined, Space::shared, addr, bytes);
}
// The same in any space, then hands over pointers.
template <class F> bool locations(Warp& w, uint64_t* addr, Space space, unsigned bytes, F f) {
    Counters& c = *w.cta->counters;
    uint32_t shared = space == Space::shared    ? w.mask
                      : space == Space::global  ? 0
                      : space == Space::cluster ? w.mask
                                                : lanes_in(addr, SHARED_WINDOW, WINDOW_BYTES) & w.mask;
    uint32_t global = w.mask & ~shared, undefined = 0;
    uint8_t* at[32];
    c.atomics += unsigned(__builtin_popcount(w.mask));
    if (space == Space::shared) {
        if (!shared_locations(w, addr, shared, bytes, at)) return false;
    } else if (shared) {
        const auto one = [&](uint32_t lanes, const uint64_t* there) {
            return shared_locations(w, there, lanes, bytes, at);
        };
        for (uint32_t m = shared; m; m &= m - 1) addr[__builtin_ctz(m)] &= WINDOW_BYTES - 1;
        if (!each_block(w, addr, shared, bytes, true, one)) return false;
    }
    if (global) {
        if (!check_global(w, addr, global, bytes, false, &undefined)) return false;
        if (undefined) return taint_atomic(w, undefined, Space::global, addr, bytes);
        w.cta->counters->global_write_bytes += unsigned(__builtin_popcount(global)) * bytes;
        for (uint32_t m = global; m; m &= m - 1)
            at[__builtin_ctz(m)] = reinterpret_cast<uint8_t*>(addr[__builtin_ctz(m)]);
    }
    in_order(w, w.mask, [&](unsigned l) { f(l, at[l], shared >> l & 1); });
    return true;
}

// in.r: [destination,] address, a [, b]. in.sub: bit 0 wide address, bit 1 no destination, bit 2 fence before, bit 3
// after.
// in.imm: offset. in.target: operation and space.
struct Plan {
    Do op;
    Space space;
};
EMU_INLINE Plan plan(const Inst& in) { return {Do(in.target & 15), Space(in.target >> 4)}; }

template <class T> Flow atom(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    unsigned at = in.sub & 2 ? 0 : 1;
    Plan p = plan(in);
    read_addresses(w, in.r[at], in.imm, in.sub & 1, addr);
    if (in.sub & 4) note_fence(w);
    T a[32], b[32] = {}, old[32];
    const void* pa = w.regs + size_t(in.r[at + 1]) * 32;
    const void* pb = p.op == Do::cas ? w.regs + size_t(in.r[at + 2]) * 32 : pa;
    for (int l = 0; l < 32; l++) a[l] = get<T>(pa, l), b[l] = get<T>(pb, l);
    if (!locations(w, addr, p.space, sizeof(T),
                   [&](unsigned l, uint8_t* q, bool s) { old[l] = change(*w.cta, q, s, p.op, a[l], b[l]); }))
        return Flow::failed;
    if (at) map_active<T>(w, in.r[0], [&](int l) { return old[l]; });
    if (in.sub & 8) note_fence(w);
    return Flow::next;
}
template <bool BF, bool PACKED> Flow atom_half(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    unsigned at = in.sub & 2 ? 0 : 1;
    read_addresses(w, in.r[at], in.imm, in.sub & 1, addr);
    uint32_t a[32], old[32];
    memcpy(a, w.regs + size_t(in.r[at + 1]) * 32, sizeof a);
    if (!locations(w, addr, plan(in).space, PACKED ? 4 : 2,
                   [&](unsigned l, uint8_t* q, bool) { old[l] = add_halves<BF, PACKED>(*w.cta, q, a[l]); }))
        return Flow::failed;
    if (at) map_active<uint32_t>(w, in.r[0], [&](int l) { return old[l]; });
    return Flow::next;
}
Flow red_vector(Warp& w, const Inst& in) { // red.global.add.v2/v4.f32
    alignas(64) uint64_t addr[32];
    read_addresses(w, in.r[0], in.imm, in.sub & 1, addr);
    unsigned vec = in.vec;
    bool ok = locations(w, addr, Space::global, 4 * vec, [&](unsigned l, uint8_t* q, bool s) {
        for (unsigned i = 0; i < vec; i++) change(*w.cta, q + 4 * i, s, Do::add, w.reg<float>(in.r[1 + i])[l], 0.0f);
    });
    return ok ? Flow::next : Flow::failed;
}
} // namespace

Handler pick_atom(const Form& form, Inst& in) {
    bool red = form.mnemonic == "red";
    const Operand& address = form.operands[red ? 0 : 1];
    const std::string_view names[] = {"add", "min", "max", "exch", "and", "or", "xor", "inc", "dec", "cas"};
    uint32_t op = 0;
    for (uint32_t i = 0; i < 10; i++)
        if (form.has(names[i])) op = i;
    bool release = form.has("release") || form.has("acq_rel"), acquire = form.has("acquire") || form.has("acq_rel");
    in.imm = int64_t(address.value);
    in.sub = uint8_t((bytes_of(address.type) == 8 ? 1 : 0) | (red ? 2 : 0) | (release ? 4 : 0) | (acquire ? 8 : 0));
    in.target = op | uint32_t(form.space) << 4;
    in.access = Inst::reads | Inst::writes | Inst::atomic;
    Type t = form.type();
    Do what = Do(op);
    if (in.vec > 1) return t == Type::f32 ? &red_vector : nullptr;
    bool bits = what == Do::exch || what == Do::and_ || what == Do::or_ || what == Do::xor_ || what == Do::cas;
    switch (t) {
    case Type::f16: return &atom_half<false, false>;
    case Type::f16x2: return &atom_half<false, true>;
    case Type::bf16: return &atom_half<true, false>;
    case Type::bf16x2: return &atom_half<true, true>;
    case Type::f32: return what == Do::add ? &atom<float> : what == Do::exch ? &atom<uint32_t> : nullptr;
    case Type::f64: return what == Do::add ? &atom<double> : what == Do::exch ? &atom<uint64_t> : nullptr;
    case Type::b16: return what == Do::cas ? &atom<uint16_t> : nullptr;
    case Type::b32: return bits ? &atom<uint32_t> : nullptr;
    case Type::b64: return bits ? &atom<uint64_t> : nullptr;
    case Type::s32: return what == Do::inc || what == Do::dec ? nullptr : &atom<int32_t>;
    case Type::s64: return what == Do::inc || what == Do::dec ? nullptr : &atom<int64_t>;
    case Type::u32: return &atom<uint32_t>;
    case Type::u64: return what == Do::inc || what == Do::dec ? nullptr : &atom<uint64_t>;
    default: return nullptr;
    }
}

} // namespace emu::EMU_LEVEL

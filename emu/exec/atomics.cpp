// SPDX-License-Identifier: Apache-2.0
// atom and red: 16 to 128 bits, integers, floats and vectors of them, shared and global. Lanes go one after the
// other; under a random schedule they start at a seeded lane, since the card promises no order.
#include <mutex>

#include "atomic_step.h"
#include "run.h"
#include "space.h"

namespace emu::EMU_LEVEL {
namespace {

// An atomic that leaves the value as it is (a lock that is taken, a flag that is only read) has changed nothing: a warp
// that spins on it waits.
template <class T> T change(Cta& cta, uint8_t* at, bool shared, Do op, T a, T b) {
    if (shared) { // nobody else runs this cluster
        T old;
        memcpy(&old, at, sizeof old);
        const T now = step(op, old, a, b);
        cta.changes += memcmp(&old, &now, sizeof old) != 0;
        memcpy(at, &now, sizeof now);
        return old;
    }
    using Word = WordOf<sizeof(T)>;
    Word now;
    const Word old = update<Word>(at, [&](Word seen) { return now = bits_as<Word>(step(op, bits_as<T>(seen), a, b)); });
    cta.changes += now != old;
    return bits_as<T>(old);
}
template <bool BF, bool PACKED> uint32_t change_halves(Cta& cta, uint8_t* at, Do op, uint32_t a) {
    using Word = WordOf<PACKED ? 4 : 2>;
    Word now;
    const Word old = update<Word>(at, [&](Word seen) {
        uint32_t both = step_half<BF>(op, seen, a);
        if (PACKED) both |= step_half<BF>(op, uint32_t(seen) >> 16, a >> 16) << 16;
        return now = Word(both);
    });
    cta.changes += now != old;
    return old;
}
// 16 bytes: one of them at a time, on all host threads.
B128 change_wide(Cta& cta, uint8_t* at, bool swap, const B128& expected, const B128& value) {
    static std::mutex one;
    const std::lock_guard lock(one);
    B128 old;
    memcpy(&old, at, sizeof old);
    if (swap && (old.lo != expected.lo || old.hi != expected.hi)) return old;
    cta.changes += old.lo != value.lo || old.hi != value.hi;
    memcpy(at, &value, sizeof value);
    return old;
}

// The lane that comes first in the order of this launch.
unsigned first_lane(Warp& w) {
    return w.launch->options.schedule == Schedule::random ? unsigned(next_random(w.rng) & 31) : 0;
}
template <class F> void in_order(Warp& w, uint32_t mask, F f) {
    const unsigned first = first_lane(w);
    for (unsigned i = 0; i < 32; i++) {
        unsigned l = (first + i) & 31;
        if ((mask >> l) & 1) f(l);
    }
}

// Checks a read and a write of locations in the shared memory of one block. False after a report.
bool shared_gate_atomic(Warp& w, const uint32_t* a, uint32_t lanes, unsigned bytes) {
    uint32_t undefined = 0;
    if (!place_shared(w, a, lanes, bytes, false, &undefined)) return false; // one atomic, not a read and a write
    if (w.cta->observer && !w.cta->observer->shared_atomic(w, lanes, a, bytes)) return false;
    uint64_t room[32];
    return !undefined || taint_atomic(w, undefined, Space::shared, widen(a, room), bytes);
}
bool shared_locations(Warp& w, const uint64_t* addr, uint32_t lanes, unsigned bytes, uint8_t** at) {
    uint32_t a[32];
    narrow(addr, a);
    if (!shared_gate_atomic(w, a, lanes, bytes)) return false;
    for (uint32_t m = lanes; m; m &= m - 1) at[__builtin_ctz(m)] = w.cta->shared + a[__builtin_ctz(m)];
    return true;
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
    c.atomics += count_lanes(w.mask);
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
        w.cta->counters->global_write_bytes += count_lanes(global) * bytes;
        for (uint32_t m = global; m; m &= m - 1)
            at[__builtin_ctz(m)] = reinterpret_cast<uint8_t*>(addr[__builtin_ctz(m)]);
    }
    in_order(w, w.mask, [&](unsigned l) { f(l, at[l], shared >> l & 1); });
    return true;
}

// in.r: [destination,] address, a [, b]. in.sub: bit 0 wide address, bit 1 no destination. in.imm: offset.
// in.target: operation and space.
struct Plan {
    Do op;
    Space space;
};
EMU_INLINE Plan plan(const Inst& in) { return {Do(in.target & 15), Space(in.target >> 4)}; }

// A word of shared memory that lanes change one after the other: it stays here until a lane names another one.
template <Do OP, class T> struct Changed {
    uint8_t* base;
    uint32_t at;
    T word;
    uint32_t differs = 0;
    Changed(uint8_t* shared, uint32_t from) : base(shared), at(from) { memcpy(&word, base + at, sizeof word); }
    ~Changed() { memcpy(base + at, &word, sizeof word); }
    EMU_INLINE T change(uint32_t to, T a, T b) {
        if (to != at) {
            memcpy(base + at, &word, sizeof word);
            memcpy(&word, base + (at = to), sizeof word);
        }
        const T old = word;
        word = step(OP, old, a, b);
        differs |= memcmp(&word, &old, sizeof word) != 0;
        return old;
    }
};
template <Do OP, class T>
void change_lanes(Warp& w, const uint32_t* addr, unsigned first, const T* a, const T* b, T* old) {
    Changed<OP, T> c(w.cta->shared, addr[__builtin_ctz(w.mask)]);
    if (w.full() && first == 0) {
        for (unsigned l = 0; l < 32; l++) old[l] = c.change(addr[l], a[l], b[l]);
    } else {
        for (unsigned i = 0; i < 32; i++) {
            const unsigned l = (first + i) & 31;
            if (w.mask >> l & 1) old[l] = c.change(addr[l], a[l], b[l]);
        }
    }
    w.cta->changes += c.differs;
}
template <class T> void change_shared(Warp& w, Do op, const uint32_t* addr, const T* a, const T* b, T* old) {
    const unsigned first = first_lane(w);
    switch (op) {
    case Do::add: return change_lanes<Do::add>(w, addr, first, a, b, old);
    case Do::min: return change_lanes<Do::min>(w, addr, first, a, b, old);
    case Do::max: return change_lanes<Do::max>(w, addr, first, a, b, old);
    case Do::exch: return change_lanes<Do::exch>(w, addr, first, a, b, old);
    case Do::and_: return change_lanes<Do::and_>(w, addr, first, a, b, old);
    case Do::or_: return change_lanes<Do::or_>(w, addr, first, a, b, old);
    case Do::xor_: return change_lanes<Do::xor_>(w, addr, first, a, b, old);
    case Do::inc: return change_lanes<Do::inc>(w, addr, first, a, b, old);
    case Do::dec: return change_lanes<Do::dec>(w, addr, first, a, b, old);
    case Do::cas: return change_lanes<Do::cas>(w, addr, first, a, b, old);
    }
}
// Where the space is known to be shared, and a register holds what its lanes bring.
template <class T> Flow atom_shared(Warp& w, const Inst& in) {
    uint32_t addr[32];
    const unsigned at = in.sub & 2 ? 0 : 1;
    const Do op = plan(in).op;
    read_addresses(w, in.r[at], in.imm, in.sub & 1, addr);
    w.cta->counters->atomics += count_lanes(w.mask);
    if (!shared_gate_atomic(w, addr, w.mask, sizeof(T))) return Flow::failed;
    const T* const a = w.reg<T>(in.r[at + 1]);
    T none[32];
    change_shared(w, op, addr, a, op == Do::cas ? w.reg<T>(in.r[at + 2]) : a, at ? w.reg<T>(in.r[0]) : none);
    return Flow::next;
}

template <class T> Flow atom(Warp& w, const Inst& in) {
    if constexpr (sizeof(T) >= 4)
        if (plan(in).space == Space::shared) return atom_shared<T>(w, in);
    alignas(64) uint64_t addr[32];
    unsigned at = in.sub & 2 ? 0 : 1;
    Plan p = plan(in);
    read_addresses(w, in.r[at], in.imm, in.sub & 1, addr);
    T a[32], b[32] = {}, old[32];
    const void* pa = w.regs + size_t(in.r[at + 1]) * 32;
    const void* pb = p.op == Do::cas ? w.regs + size_t(in.r[at + 2]) * 32 : pa;
    for (int l = 0; l < 32; l++) a[l] = get<T>(pa, l), b[l] = get<T>(pb, l);
    if (!locations(w, addr, p.space, sizeof(T),
                   [&](unsigned l, uint8_t* q, bool s) { old[l] = change(*w.cta, q, s, p.op, a[l], b[l]); }))
        return Flow::failed;
    if (at) map_active<T>(w, in.r[0], [&](int l) { return old[l]; });
    return Flow::next;
}
template <bool BF, bool PACKED> Flow atom_half(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    unsigned at = in.sub & 2 ? 0 : 1;
    read_addresses(w, in.r[at], in.imm, in.sub & 1, addr);
    uint32_t a[32], old[32];
    memcpy(a, w.regs + size_t(in.r[at + 1]) * 32, sizeof a);
    if (!locations(w, addr, plan(in).space, PACKED ? 4 : 2, [&](unsigned l, uint8_t* q, bool) {
            old[l] = change_halves<BF, PACKED>(*w.cta, q, plan(in).op, a[l]);
        }))
        return Flow::failed;
    if (at) map_active<uint32_t>(w, in.r[0], [&](int l) { return old[l]; });
    return Flow::next;
}
// .v2, .v4 and .v8: each element for itself. E: what one is, as change and change_halves know it.
struct FloatElement {
    static constexpr unsigned BYTES = 4;
    static uint32_t change(Cta& cta, uint8_t* at, bool shared, Do op, uint32_t a) {
        return bits_as<uint32_t>(EMU_LEVEL::change(cta, at, shared, op, bits_as<float>(a), 0.0f));
    }
};
template <bool BF, bool PACKED> struct HalfElement {
    static constexpr unsigned BYTES = PACKED ? 4 : 2;
    static uint32_t change(Cta& cta, uint8_t* at, bool, Do op, uint32_t a) {
        return change_halves<BF, PACKED>(cta, at, op, a);
    }
};
template <class E> Flow atom_vector(Warp& w, const Inst& in) {
    alignas(64) uint64_t addr[32];
    const unsigned vec = in.vec, at = in.sub & 2 ? 0 : vec;
    const uint16_t* r = operands_of(*w.kernel, in);
    read_addresses(w, r[at], in.imm, in.sub & 1, addr);
    uint32_t source[8][32];
    for (unsigned i = 0; i < vec; i++) memcpy(source[i], w.reg<uint32_t>(r[at + 1 + i]), sizeof source[i]);
    const bool ok = locations(w, addr, plan(in).space, E::BYTES * vec, [&](unsigned l, uint8_t* q, bool shared) {
        for (unsigned i = 0; i < vec; i++) {
            const uint32_t old = E::change(*w.cta, q + E::BYTES * i, shared, plan(in).op, source[i][l]);
            if (at) w.reg<uint32_t>(r[i])[l] = old;
        }
    });
    return ok ? Flow::next : Flow::failed;
}
Flow atom_wide(Warp& w, const Inst& in) { // exch and cas of 16 bytes
    alignas(64) uint64_t addr[32];
    read_addresses(w, in.r[1], in.imm, in.sub & 1, addr);
    const bool swap = plan(in).op == Do::cas;
    B128 first[32], second[32], *to = w.reg<B128>(in.r[0]);
    memcpy(first, w.reg<B128>(in.r[2]), sizeof first);
    memcpy(second, w.reg<B128>(in.r[swap ? 3 : 2]), sizeof second);
    const bool ok = locations(w, addr, plan(in).space, 16, [&](unsigned l, uint8_t* q, bool) {
        to[l] = change_wide(*w.cta, q, swap, first[l], second[l]);
    });
    return ok ? Flow::next : Flow::failed;
}
Handler pick_vector(Type t) {
    switch (t) {
    case Type::f32: return &atom_vector<FloatElement>;
    case Type::f16: return &atom_vector<HalfElement<false, false>>;
    case Type::f16x2: return &atom_vector<HalfElement<false, true>>;
    case Type::bf16: return &atom_vector<HalfElement<true, false>>;
    case Type::bf16x2: return &atom_vector<HalfElement<true, true>>;
    default: return nullptr;
    }
}
} // namespace

Handler pick_atom(const Form& form, Inst& in) {
    bool red = form.mnemonic == "red";
    const Operand& address = form.operands[red ? 0 : 1];
    const Do what = named_in(form);
    in.imm = int64_t(address.value);
    in.sub = uint8_t((bytes_of(address.type) == 8 ? 1 : 0) | (red ? 2 : 0));
    in.target = uint32_t(what) | uint32_t(form.space) << 4;
    in.access = Inst::reads | Inst::writes | Inst::atomic;
    Type t = form.type();
    if (in.vec > 1) return unsigned(in.vec) * bytes_of(t) <= 16 ? pick_vector(t) : nullptr;
    bool bits = what == Do::exch || what == Do::and_ || what == Do::or_ || what == Do::xor_ || what == Do::cas;
    switch (t) {
    case Type::f16: return &atom_half<false, false>;
    case Type::f16x2: return &atom_half<false, true>;
    case Type::bf16: return &atom_half<true, false>;
    case Type::bf16x2: return &atom_half<true, true>;
    case Type::f32: return what == Do::add ? &atom<float> : what == Do::exch ? &atom<uint32_t> : nullptr;
    case Type::f64: return what == Do::add ? &atom<double> : what == Do::exch ? &atom<uint64_t> : nullptr;
    case Type::b16: return what == Do::cas ? &atom<uint16_t> : nullptr;
    case Type::b128: return &atom_wide;
    case Type::b32: return bits ? &atom<uint32_t> : nullptr;
    case Type::b64: return bits ? &atom<uint64_t> : nullptr;
    case Type::s32: return what == Do::inc || what == Do::dec ? nullptr : &atom<int32_t>;
    case Type::s64: return what == Do::add || what == Do::inc || what == Do::dec ? nullptr : &atom<int64_t>;
    case Type::u32: return &atom<uint32_t>;
    case Type::u64: return what == Do::inc || what == Do::dec ? nullptr : &atom<uint64_t>;
    default: return nullptr;
    }
}

} // namespace emu::EMU_LEVEL

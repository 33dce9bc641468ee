// SPDX-License-Identifier: Apache-2.0
// Exchange between the lanes of a warp: shfl, vote, match, redux, activemask, elect. The loop has already gathered the
// lanes that the member mask names.
#include "lanes.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

enum : uint8_t { UP, DOWN, BFLY, IDX };

EMU_INLINE bool all_are(const uint32_t* v, uint32_t value) {
    uint32_t differs = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) differs |= v[l] ^ value;
    return !differs;
}
template <int N> EMU_INLINE void exchange(uint32_t* d, const uint32_t* a) {
    EMU_LANES
    for (int l = 0; l < 32; l++) d[l] = a[l ^ N];
}
// What reductions over a warp do, without segments: a butterfly by a power of two. False: another one.
EMU_INLINE bool butterfly(uint32_t* d, const uint32_t* a, uint32_t n) {
    switch (n) {
    case 1: return exchange<1>(d, a), true;
    case 2: return exchange<2>(d, a), true;
    case 4: return exchange<4>(d, a), true;
    case 8: return exchange<8>(d, a), true;
    case 16: return exchange<16>(d, a), true;
    default: return false;
    }
}

// in.r: d, p, a, b, c, mask.
template <int MODE> Flow shfl(Warp& w, const Inst& in) {
    uint32_t a[32];
    uint8_t from[32];
    memcpy(a, w.regs + size_t(in.r[2]) * 32, sizeof a);
    const uint32_t* b = w.reg<uint32_t>(in.r[3]);
    const uint32_t* c = w.reg<uint32_t>(in.r[4]);
    if (MODE == BFLY && w.full() && !w.tainted && all_are(c, 31) && all_are(b, b[0]) &&
        butterfly(w.reg<uint32_t>(in.r[0]), a, b[0])) {
        set_pred(w, in.r[1], FULL);
        return Flow::next;
    }
    uint32_t valid = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) {
        uint32_t clamp = c[l] & 31, segment = (c[l] >> 8) & 31, lane = uint32_t(l), n = b[l] & 31;
        int32_t most = int32_t((lane & segment) | (clamp & ~segment)), least = int32_t(lane & segment);
        int32_t j = least | int32_t(n & ~segment);
        if constexpr (MODE == UP) j = int32_t(lane - n);
        if constexpr (MODE == DOWN) j = int32_t(lane + n);
        if constexpr (MODE == BFLY) j = int32_t(lane ^ n);
        bool in_range = MODE == UP ? j >= most : j <= most;
        from[l] = uint8_t(in_range ? j : l);
        valid |= (in_range ? 1u : 0u) << l;
    }
    uint32_t taken = 0;
    for (uint32_t m = w.full() ? 0 : w.mask; m; m &= m - 1) taken |= 1u << from[__builtin_ctz(m)];
    bool outside = (taken & ~w.mask) != 0; // a lane reads from one that is not here
    if (outside || w.tainted) taint_shuffle(w, in.r[0], in.r[2], from);
    set_pred(w, in.r[1], valid);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return a[from[l] & 31]; });
}

EMU_INLINE uint32_t source_pred(const Warp& w, const Inst& in, unsigned at) {
    uint32_t p = w.preds[in.r[at]];
    return in.flags & Inst::not_src ? ~p : p;
}
// Lanes of one instruction may come in groups with masks of their own; each lane answers for its group.
template <class F> EMU_INLINE void by_group(const Warp& w, uint16_t mask_slot, F f) {
    const uint32_t* members = w.reg<uint32_t>(mask_slot);
    for (uint32_t left = w.mask; left;) {
        uint32_t group = members[__builtin_ctz(left)] & w.mask;
        f(group);
        left &= ~(group ? group : left);
    }
}
template <int MODE> Flow vote(Warp& w, const Inst& in) { // 0 all, 1 any, 2 uni
    uint32_t p = source_pred(w, in, 1), result = 0;
    by_group(w, in.r[2], [&](uint32_t group) {
        bool all = (p & group) == group, any = (p & group) != 0;
        if (MODE == 0 ? all : MODE == 1 ? any : all || !any) result |= group;
    });
    set_pred(w, in.r[0], result);
    return Flow::next;
}
Flow ballot(Warp& w, const Inst& in) {
    uint32_t p = source_pred(w, in, 1);
    const uint32_t* members = w.reg<uint32_t>(in.r[2]);
    uint32_t active = w.mask;
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return p & active & members[l]; });
}
template <class T> Flow match_any(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    uint32_t result[32] = {};
    for (uint32_t m = w.mask; m; m &= m - 1) {
        int l = __builtin_ctz(m);
        for (uint32_t k = w.mask; k; k &= k - 1)
            result[l] |= (a[__builtin_ctz(k)] == a[l] ? 1u : 0u) << __builtin_ctz(k);
    }
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return result[l]; });
}
template <class T> Flow match_all(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[2]);
    uint32_t same = 0;
    by_group(w, in.r[3], [&](uint32_t group) {
        bool all = true;
        for (uint32_t m = group; m; m &= m - 1) all &= a[__builtin_ctz(m)] == a[__builtin_ctz(group)];
        if (all) same |= group;
    });
    set_pred(w, in.r[1], same);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return (same >> l) & 1 ? same : 0; });
}
enum : uint8_t { ADD, MIN, MAX, AND, OR, XOR };
template <int OP, class T> Flow redux(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    T result[32] = {};
    by_group(w, in.r[2], [&](uint32_t group) {
        T r = a[__builtin_ctz(group)];
        for (uint32_t m = group & (group - 1); m; m &= m - 1) {
            T v = a[__builtin_ctz(m)];
            r = OP == ADD   ? T(uint32_t(r) + uint32_t(v))
                : OP == MIN ? (v < r ? v : r)
                : OP == MAX ? (v > r ? v : r)
                : OP == AND ? T(r & v)
                : OP == OR  ? T(r | v)
                            : T(r ^ v);
        }
        for (uint32_t m = group; m; m &= m - 1) result[__builtin_ctz(m)] = r;
    });
    return map_lanes<T>(w, in.r[0], [&](int l) { return result[l]; });
}
Flow activemask(Warp& w, const Inst& in) {
    uint32_t active = w.mask;
    return map_lanes<uint32_t>(w, in.r[0], [&](int) { return active; });
}
Flow elect(Warp& w, const Inst& in) {
    uint32_t leader = uint32_t(__builtin_ctz(w.mask));
    set_pred(w, in.r[1], 1u << leader);
    return map_lanes<uint32_t>(w, in.r[0], [&](int) { return leader; });
}
} // namespace

Handler pick_shfl(const Form& form, Inst&) {
    if (form.has("up")) return &shfl<UP>;
    if (form.has("down")) return &shfl<DOWN>;
    return form.has("bfly") ? &shfl<BFLY> : &shfl<IDX>;
}

Handler pick_vote(const Form& form, Inst&) {
    Type t = form.type();
    bool wide = bytes_of(t) == 8, s = is_signed(t);
    if (form.mnemonic == "vote") {
        if (form.has("ballot")) return &ballot;
        return form.has("all") ? &vote<0> : form.has("any") ? &vote<1> : &vote<2>;
    }
    if (form.mnemonic == "match") {
        if (form.has("any")) return wide ? &match_any<uint64_t> : &match_any<uint32_t>;
        return wide ? &match_all<uint64_t> : &match_all<uint32_t>;
    }
    if (form.mnemonic == "activemask") return &activemask;
    if (form.mnemonic == "elect") return &elect;
    if (form.has("add")) return s ? &redux<ADD, int32_t> : &redux<ADD, uint32_t>;
    if (form.has("min")) return s ? &redux<MIN, int32_t> : &redux<MIN, uint32_t>;
    if (form.has("max")) return s ? &redux<MAX, int32_t> : &redux<MAX, uint32_t>;
    if (form.has("and")) return &redux<AND, uint32_t>;
    return form.has("or") ? &redux<OR, uint32_t> : &redux<XOR, uint32_t>;
}

} // namespace emu::EMU_LEVEL

// SPDX-License-Identifier: Apache-2.0
// Comparisons to predicates and values (setp, set) and choices (selp, slct).
#include <type_traits>

#include "half.h"
#include "run.h"

namespace emu::EMU_LEVEL {
namespace {

// Cmp: 0 eq 1 ne 2 lt 3 le 4 gt 5 ge, +8: also true if unordered; 6 num 7 nan.
template <int C, class T> EMU_INLINE bool compare(T a, T b) {
    constexpr int K = C & 7;
    bool nan = a != a || b != b;
    bool r = K == 0   ? a == b
             : K == 1 ? (a != b && !nan)
             : K == 2 ? a < b
             : K == 3 ? a <= b
             : K == 4 ? a > b
             : K == 5 ? a >= b
             : K == 6 ? !nan
                      : nan;
    return C & 8 ? r || nan : r;
}
// The same, chosen at run time: for types that hot loops do not compare.
template <class T> EMU_INLINE bool compare_any(int c, T a, T b) {
    bool nan = a != a || b != b, r;
    switch (c & 7) {
    case 0: r = a == b; break;
    case 1: r = a != b && !nan; break;
    case 2: r = a < b; break;
    case 3: r = a <= b; break;
    case 4: r = a > b; break;
    case 5: r = a >= b; break;
    case 6: r = !nan; break;
    default: r = nan; break;
    }
    return c & 8 ? r || nan : r;
}
int comparison(const Form& form) {
    const std::string_view names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "num",
                                      "nan", "equ", "neu", "ltu", "leu", "gtu", "geu"};
    for (int i = 0; i < 14; i++)
        if (form.mods[0] == names[i]) return i < 8 ? i : i - 8 + 8;
    const std::string_view unsigned_names[] = {"lo", "ls", "hi", "hs"};
    for (int i = 0; i < 4; i++)
        if (form.mods[0] == unsigned_names[i]) return 2 + i;
    return -1;
}

EMU_INLINE uint32_t combined(uint32_t r, uint32_t c, int how) {
    return how == COMBINE_AND ? r & c : how == COMBINE_OR ? r | c : how == COMBINE_XOR ? r ^ c : r;
}

// A comparison, combined with the instruction's predicate, its operand `at`, if it has one.
EMU_INLINE uint32_t with_predicate(const Warp& w, const Inst& in, uint32_t bits, unsigned at) {
    if (!(in.sub & 3)) return bits;
    const uint32_t c = w.preds[in.r[at]];
    return combined(bits, in.flags & Inst::not_src ? ~c : c, in.sub & 3);
}
// Writes p and q (q: of the complement of the comparison).
EMU_INLINE Flow finish(Warp& w, const Inst& in, uint32_t bits) {
    const uint32_t p = with_predicate(w, in, bits, 4), q = with_predicate(w, in, ~bits, 4);
    set_pred(w, in.r[1], q);
    set_pred(w, in.r[0], p);
    return Flow::next;
}
template <int C, class T> Flow setp(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[2]) * 32;
    const void* b = w.regs + size_t(in.r[3]) * 32;
    if constexpr (std::is_same_v<T, float>) {
        if (in.sub & 4)
            return finish(
                w, in, test_lanes([&](int l) { return compare<C>(flush(get<float>(a, l)), flush(get<float>(b, l))); }));
    }
    return finish(w, in, test_lanes([&](int l) { return compare<C>(get<T>(a, l), get<T>(b, l)); }));
}
// One half of each lane's register. in.imm: the comparison; in.sub bit 2: subnormal halves are zeros.
template <bool BF> EMU_INLINE float half_at(const Inst& in, uint32_t bits) {
    const float f = widen<BF>(bits);
    return in.sub & 4 && !BF && __builtin_fabsf(f) < 0x1p-14f ? 0.0f : f;
}
template <bool BF>
EMU_INLINE uint32_t compare_halves(const Warp& w, const Inst& in, uint16_t x, uint16_t y, int shift) {
    const uint32_t *a = w.reg<uint32_t>(x), *b = w.reg<uint32_t>(y);
    const int c = int(in.imm);
    return test_lanes(
        [&](int l) { return compare_any(c, half_at<BF>(in, a[l] >> shift), half_at<BF>(in, b[l] >> shift)); });
}
// f16x2 and bf16x2 compare both halves: p from the lower, q from the upper.
template <bool BF> Flow setp_packed(Warp& w, const Inst& in) {
    const uint32_t low = compare_halves<BF>(w, in, in.r[2], in.r[3], 0);
    const uint32_t high = compare_halves<BF>(w, in, in.r[2], in.r[3], 16);
    const uint32_t p = with_predicate(w, in, low, 4), q = with_predicate(w, in, high, 4);
    set_pred(w, in.r[0], p);
    set_pred(w, in.r[1], q);
    return Flow::next;
}
template <bool BF> Flow setp_half(Warp& w, const Inst& in) { // has no q
    set_pred(w, in.r[0], with_predicate(w, in, compare_halves<BF>(w, in, in.r[1], in.r[2], 0), 3));
    return Flow::next;
}
template <class T> Flow setp_any(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[2]) * 32;
    const void* b = w.regs + size_t(in.r[3]) * 32;
    int c = int(in.imm);
    bool ftz = in.sub & 4;
    return finish(w, in, test_lanes([&](int l) {
                      T x = get<T>(a, l), y = get<T>(b, l);
                      if constexpr (std::is_same_v<T, float>)
                          if (ftz) x = flush(x), y = flush(y);
                      return compare_any(c, x, y);
                  }));
}
// set: in.target is what true is.
template <class T> Flow set_value(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const uint32_t yes = in.target;
    const bool ftz = in.sub & 4;
    const int c = int(in.imm);
    const uint32_t bits = with_predicate(w, in, test_lanes([&](int l) {
                                             T x = get<T>(a, l), y = get<T>(b, l);
                                             if constexpr (std::is_same_v<T, float>)
                                                 if (ftz) x = flush(x), y = flush(y);
                                             return compare_any(c, x, y);
                                         }),
                                         3);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return bits >> l & 1 ? yes : 0u; });
}
template <bool BF, bool PACKED> Flow set_half(Warp& w, const Inst& in) {
    const uint32_t low = with_predicate(w, in, compare_halves<BF>(w, in, in.r[1], in.r[2], 0), 3);
    const uint32_t high = PACKED ? with_predicate(w, in, compare_halves<BF>(w, in, in.r[1], in.r[2], 16), 3) : 0;
    const uint32_t yes = in.target;
    return map_lanes<uint32_t>(w, in.r[0],
                               [&](int l) { return (low >> l & 1 ? yes : 0u) | (high >> l & 1 ? yes << 16 : 0u); });
}

template <class F> Handler with_comparison(int c, F f) {
    switch (c) {
    case 0: return f(std::integral_constant<int, 0>());
    case 1: return f(std::integral_constant<int, 1>());
    case 2: return f(std::integral_constant<int, 2>());
    case 3: return f(std::integral_constant<int, 3>());
    case 4: return f(std::integral_constant<int, 4>());
    case 5: return f(std::integral_constant<int, 5>());
    default: return nullptr;
    }
}
template <class F> Handler with_type(Type t, F f) {
    if (t == Type::f32) return f(float());
    if (t == Type::f64) return f(double());
    return pick_int(t, f);
}
// What true is, in a register or in each of its halves.
uint32_t true_value(Type to, bool packed) {
    if (to == Type::f32) return 0x3f800000;
    if (to == Type::f16 || to == Type::f16x2) return 0x3c00;
    if (to == Type::bf16 || to == Type::bf16x2) return 0x3f80;
    return packed || bytes_of(to) == 2 ? 0xffff : 0xffffffff;
}
Handler pick_set(const Form& form, Inst& in, Type from) {
    const bool packed = from == Type::f16x2 || from == Type::bf16x2;
    in.target = true_value(form.type(0), packed);
    switch (from) {
    case Type::f16: return &set_half<false, false>;
    case Type::bf16: return &set_half<true, false>;
    case Type::f16x2: return &set_half<false, true>;
    case Type::bf16x2: return &set_half<true, true>;
    default: return with_type(from, [](auto z) -> Handler { return &set_value<decltype(z)>; });
    }
}
} // namespace

Handler pick_setp(const Form& form, Inst& in) {
    int c = comparison(form);
    bool set = form.mnemonic == "set";
    Type t = form.type(set ? 1 : 0);
    if (!is_float(t) && c >= 6) return nullptr;
    bool unsigned_word = form.mods[0] == "lo" || form.mods[0] == "ls" || form.mods[0] == "hi" || form.mods[0] == "hs";
    if (unsigned_word && (is_float(t) || is_signed(t))) return nullptr;
    in.imm = c;
    in.sub = uint8_t((form.has("and")   ? COMBINE_AND
                      : form.has("or")  ? COMBINE_OR
                      : form.has("xor") ? COMBINE_XOR
                                        : COMBINE_NONE) |
                     (form.has("ftz") ? 4 : 0) | (is_signed(t) ? COMPARE_SIGNED : 0) |
                     (is_float(t) ? 0 : bytes_of(t) / 2 * COMPARE_PAIRS));
    if (set) return pick_set(form, in, t);
    switch (t) {
    case Type::f16: return &setp_half<false>;
    case Type::bf16: return &setp_half<true>;
    case Type::f16x2: return &setp_packed<false>;
    case Type::bf16x2: return &setp_packed<true>;
    case Type::b32:
    case Type::u32: return with_comparison(c, [](auto k) -> Handler { return &setp<decltype(k)::value, uint32_t>; });
    case Type::s32: return with_comparison(c, [](auto k) -> Handler { return &setp<decltype(k)::value, int32_t>; });
    case Type::b64:
    case Type::u64: return with_comparison(c, [](auto k) -> Handler { return &setp<decltype(k)::value, uint64_t>; });
    case Type::s64: return with_comparison(c, [](auto k) -> Handler { return &setp<decltype(k)::value, int64_t>; });
    case Type::f32:
        if (c < 6) return with_comparison(c, [](auto k) -> Handler { return &setp<decltype(k)::value, float>; });
        return &setp_any<float>;
    default: return with_type(t, [](auto z) -> Handler { return &setp_any<decltype(z)>; });
    }
}

namespace {
template <class T> Flow selp(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    uint32_t p = w.preds[in.r[3]];
    if (in.flags & Inst::not_src) p = ~p;
    return map_lanes<T>(w, in.r[0], [&](int l) { return (p >> l) & 1 ? get<T>(a, l) : get<T>(b, l); });
}
template <class T, class C> Flow slct(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const C* c = w.reg<C>(in.r[3]);
    return map_lanes<T>(w, in.r[0], [&](int l) { return c[l] >= 0 ? get<T>(a, l) : get<T>(b, l); });
}
} // namespace

Handler pick_select(const Form& form, Inst&) {
    if (form.mnemonic == "selp") return pick_bits(form.type(), [](auto z) -> Handler { return &selp<decltype(z)>; });
    if (form.type(1) == Type::f32)
        return pick_bits(form.type(), [](auto z) -> Handler { return &slct<decltype(z), float>; });
    return pick_bits(form.type(), [](auto z) -> Handler { return &slct<decltype(z), int32_t>; });
}

} // namespace emu::EMU_LEVEL

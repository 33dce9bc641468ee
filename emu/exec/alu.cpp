// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic: add, sub, neg, abs, sad, mul, mad, div, rem, dp4a. Wraps as the card does.
#include <type_traits>

#include "lanes.h"

namespace emu::EMU_LEVEL {
namespace {

template <class T> using U = std::make_unsigned_t<T>;
template <class T>
using Wide =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

struct Add {
    template <class T> static EMU_INLINE T f(T a, T b) { return T(U<T>(a) + U<T>(b)); }
};
struct Sub {
    template <class T> static EMU_INLINE T f(T a, T b) { return T(U<T>(a) - U<T>(b)); }
};
struct Neg {
    template <class T> static EMU_INLINE T f(T a) { return T(U<T>(0) - U<T>(a)); }
};
struct Abs {
    template <class T> static EMU_INLINE T f(T a) { return a < 0 ? T(U<T>(0) - U<T>(a)) : a; }
};
struct Sad {
    template <class T> static EMU_INLINE T f(T a, T b, T c) {
        return T(U<T>(c) + (a < b ? U<T>(b) - U<T>(a) : U<T>(a) - U<T>(b)));
    }
};
struct AddSat {
    static EMU_INLINE int32_t f(int32_t a, int32_t b) {
        int64_t s = int64_t(a) + b;
        return int32_t(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
    }
};
struct SubSat {
    static EMU_INLINE int32_t f(int32_t a, int32_t b) {
        int64_t s = int64_t(a) - b;
        return int32_t(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
    }
};
struct AddHalves {
    static EMU_INLINE uint32_t f(uint32_t a, uint32_t b) {
        return ((a + b) & 0xffff) | ((a & 0xffff0000u) + (b & 0xffff0000u));
    }
};
struct MulLo {
    template <class T> static EMU_INLINE T f(T a, T b) { return T(uint64_t(U<T>(a)) * uint64_t(U<T>(b))); }
};
struct MulHi {
    template <class T> static EMU_INLINE T f(T a, T b) { return T((Wide<T>(a) * Wide<T>(b)) >> (sizeof(T) * 8)); }
};
struct MadLo {
    template <class T> static EMU_INLINE T f(T a, T b, T c) {
        return T(uint64_t(U<T>(a)) * uint64_t(U<T>(b)) + uint64_t(U<T>(c)));
    }
};
struct MadHi {
    template <class T> static EMU_INLINE T f(T a, T b, T c) { return Add::f(MulHi::f(a, b), c); }
};
template <class T> EMU_INLINE T low24(T a) { return std::is_signed_v<T> ? T(uint32_t(a) << 8) >> 8 : T(a & 0xffffff); }
struct Mul24Lo {
    template <class T> static EMU_INLINE T f(T a, T b) { return T(int64_t(low24(a)) * int64_t(low24(b))); }
};
struct Mul24Hi {
    template <class T> static EMU_INLINE T f(T a, T b) { return T((int64_t(low24(a)) * int64_t(low24(b))) >> 16); }
};
struct Mad24Lo {
    template <class T> static EMU_INLINE T f(T a, T b, T c) { return Add::f(Mul24Lo::f(a, b), c); }
};
struct Mad24Hi {
    template <class T> static EMU_INLINE T f(T a, T b, T c) { return Add::f(Mul24Hi::f(a, b), c); }
};

template <class Hi> struct SumSat {
    static EMU_INLINE int32_t f(int32_t a, int32_t b, int32_t c) { return AddSat::f(Hi::f(a, b), c); }
};

template <class T> Flow mul_wide(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    return map_lanes<Wide<T>>(w, in.r[0],
                              [&](int l) { return Wide<T>(Wide<T>(get<T>(a, l)) * Wide<T>(get<T>(b, l))); });
}
template <class T> Flow mad_wide(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const void* c = w.regs + size_t(in.r[3]) * 32;
    return map_lanes<Wide<T>>(w, in.r[0], [&](int l) {
        return Wide<T>(U<Wide<T>>(Wide<T>(get<T>(a, l)) * Wide<T>(get<T>(b, l))) + U<Wide<T>>(get<Wide<T>>(c, l)));
    });
}
// The card gives all ones for a division by zero, and the dividend as the remainder.
template <class T> EMU_INLINE T quotient(T a, T b) {
    if (b == 0) return T(~T(0));
    if (std::is_signed_v<T> && b == T(-1)) return T(U<T>(0) - U<T>(a));
    return T(a / b);
}
template <class T> EMU_INLINE bool is_shared(const void* slot, T v) {
    U<T> differs = 0;
    EMU_LANES
    for (int l = 0; l < 32; l++) differs |= U<T>(get<T>(slot, l) ^ v);
    return !differs;
}
template <class T> EMU_INLINE T remainder_of(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == T(-1)) return 0;
    return T(a % b);
}
// Indices are mostly divided by what all lanes share: by a power of two, or all have the dividend too.
template <class T> Flow div_int(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    if constexpr (sizeof(T) >= 4)
        if (const T by = get<T>(b, 0); w.full() && is_shared(b, by)) {
            if (const T of = get<T>(a, 0); is_shared(a, of))
                return map_lanes<T>(w, in.r[0], [q = quotient(of, by)](int) { return q; });
            if (std::is_unsigned_v<T> && by && !(by & (by - 1)))
                return map_lanes<T>(w, in.r[0], [&, n = __builtin_ctzll(by)](int l) { return T(get<T>(a, l) >> n); });
        }
    return map_active<T>(w, in.r[0], [&](int l) { return quotient(get<T>(a, l), get<T>(b, l)); });
}
template <class T> Flow rem_int(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    if constexpr (sizeof(T) >= 4)
        if (const T by = get<T>(b, 0), of = get<T>(a, 0); w.full() && is_shared(b, by) && is_shared(a, of))
            return map_lanes<T>(w, in.r[0], [r = remainder_of(of, by)](int) { return r; });
    return map_active<T>(w, in.r[0], [&](int l) { return remainder_of(get<T>(a, l), get<T>(b, l)); });
}
template <bool SA, bool SB> Flow dp4a(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        int32_t sum = 0;
        for (int i = 0; i < 32; i += 8)
            sum += (SA ? int32_t(int8_t(a[l] >> i)) : int32_t(uint8_t(a[l] >> i))) *
                   (SB ? int32_t(int8_t(b[l] >> i)) : int32_t(uint8_t(b[l] >> i)));
        return uint32_t(sum) + c[l];
    });
}

// dp2a: two halves of a times two bytes of b, the low or (in.sub) the high ones.
template <bool SA, bool SB> Flow dp2a(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[3]);
    const unsigned from = in.sub ? 16 : 0;
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        int32_t sum = 0;
        for (unsigned i = 0; i < 2; i++)
            sum += (SA ? int32_t(int16_t(a[l] >> 16 * i)) : int32_t(uint16_t(a[l] >> 16 * i))) *
                   (SB ? int32_t(int8_t(b[l] >> (from + 8 * i))) : int32_t(uint8_t(b[l] >> (from + 8 * i))));
        return uint32_t(sum) + c[l];
    });
}

// Sums with a carry in (the c of the name) and out (.cc). in.sub: writes the carry. A difference is the sum of the one
// and the complement of the other: its carry is the borrow's opposite, as addc after sub.cc sees.
enum Carried : uint8_t { ADD, SUB, LOW, HIGH }; // the products take one operand more
template <class T, Carried KIND, bool IN> Flow carried(Warp& w, const Inst& in) {
    const void* a = w.regs + size_t(in.r[1]) * 32;
    const void* b = w.regs + size_t(in.r[2]) * 32;
    const void* c = w.regs + size_t(in.r[KIND == LOW || KIND == HIGH ? 3 : 2]) * 32;
    const uint32_t carry = !IN ? 0 : KIND == SUB ? ~w.carry : w.carry;
    uint32_t out = 0;
    map_active<T>(w, in.r[0], [&](int l) {
        const T x = get<T>(a, l), y = get<T>(b, l);
        const U<T> first = U<T>(KIND == LOW ? MulLo::f(x, y) : KIND == HIGH ? MulHi::f(x, y) : x);
        const U<T> second = U<T>(get<T>(c, l)), more = carry >> l & 1;
        const U<T> sum = KIND == SUB ? first - second : first + second, all = KIND == SUB ? sum - more : sum + more;
        const bool over = KIND == SUB ? first < second || sum < more : sum < first || all < sum;
        out |= (over ? 1u : 0u) << l;
        return T(all);
    });
    if (in.sub) w.carry = (w.carry & ~w.mask) | (w.mask & (KIND == SUB ? ~out : out));
    return Flow::next;
}
template <Carried KIND, bool IN> Handler carried_of(Type t) {
    return t == Type::u32   ? &carried<uint32_t, KIND, IN>
           : t == Type::s32 ? &carried<int32_t, KIND, IN>
           : t == Type::u64 ? &carried<uint64_t, KIND, IN>
                            : &carried<int64_t, KIND, IN>;
}
template <bool IN> Handler carried_kind(const Form& form) {
    const Type t = form.type();
    if (form.mnemonic.starts_with("add")) return carried_of<ADD, IN>(t);
    if (form.mnemonic.starts_with("sub")) return carried_of<SUB, IN>(t);
    return form.has("hi") ? carried_of<HIGH, IN>(t) : carried_of<LOW, IN>(t);
}

template <class Op> Handler binary_int(Type t) {
    return pick_int(t, [](auto z) -> Handler { return &binary<Op, decltype(z)>; });
}
template <class Op> Handler ternary_int(Type t) {
    return pick_int(t, [](auto z) -> Handler { return &ternary<Op, decltype(z)>; });
}

template <class Op> Handler signed_unary(Type t) {
    if (t == Type::s16) return &unary<Op, int16_t>;
    if (t == Type::s32) return &unary<Op, int32_t>;
    return &unary<Op, int64_t>;
}
template <class Lo, class Hi, class F> Handler low_or_high(const Form& form, F choose) {
    return form.has("hi") ? choose(Hi()) : choose(Lo());
}
} // namespace

Handler pick_alu(const Form& form, Inst&) {
    Type t = form.type();
    if (form.mnemonic == "add") {
        if (form.has("sat")) return &binary<AddSat, int32_t>;
        if (t == Type::u16x2 || t == Type::s16x2) return &binary<AddHalves, uint32_t>;
        return binary_int<Add>(t);
    }
    if (form.mnemonic == "sub") return form.has("sat") ? &binary<SubSat, int32_t> : binary_int<Sub>(t);
    if (form.mnemonic == "neg") return signed_unary<Neg>(t);
    if (form.mnemonic == "abs") return signed_unary<Abs>(t);
    if (form.mnemonic == "sad") return ternary_int<Sad>(t);
    return nullptr;
}

Handler pick_carry(const Form& form, Inst& in) {
    in.sub = form.has("cc");
    return form.mnemonic.ends_with("c") ? carried_kind<true>(form) : carried_kind<false>(form);
}

Handler pick_muladd(const Form& form, Inst& in) {
    Type t = form.type();
    auto two = [&](auto op) { return binary_int<decltype(op)>(t); };
    auto three = [&](auto op) { return ternary_int<decltype(op)>(t); };
    bool is_signed_type = is_signed(t);
    if (form.mnemonic == "mul" && form.has("wide"))
        return bytes_of(t) == 2 ? (is_signed_type ? &mul_wide<int16_t> : &mul_wide<uint16_t>)
                                : (is_signed_type ? &mul_wide<int32_t> : &mul_wide<uint32_t>);
    if (form.mnemonic == "mad" && form.has("wide"))
        return bytes_of(t) == 2 ? (is_signed_type ? &mad_wide<int16_t> : &mad_wide<uint16_t>)
                                : (is_signed_type ? &mad_wide<int32_t> : &mad_wide<uint32_t>);
    if (form.has("sat"))
        return form.mnemonic == "mad" ? &ternary<SumSat<MulHi>, int32_t> : &ternary<SumSat<Mul24Hi>, int32_t>;
    if (form.mnemonic == "mul") return low_or_high<MulLo, MulHi>(form, two);
    if (form.mnemonic == "mad") return low_or_high<MadLo, MadHi>(form, three);
    auto s_or_u = [&](auto op2) -> Handler {
        using Op = decltype(op2);
        return is_signed_type ? &binary<Op, int32_t> : &binary<Op, uint32_t>;
    };
    auto s_or_u3 = [&](auto op3) -> Handler {
        using Op = decltype(op3);
        return is_signed_type ? &ternary<Op, int32_t> : &ternary<Op, uint32_t>;
    };
    if (form.mnemonic == "mul24") return low_or_high<Mul24Lo, Mul24Hi>(form, s_or_u);
    if (form.mnemonic == "mad24") return low_or_high<Mad24Lo, Mad24Hi>(form, s_or_u3);
    if (form.mnemonic == "div") return pick_int(t, [](auto z) -> Handler { return &div_int<decltype(z)>; });
    if (form.mnemonic == "rem") return pick_int(t, [](auto z) -> Handler { return &rem_int<decltype(z)>; });
    if (form.mnemonic == "dp2a") {
        in.sub = form.has("hi");
        bool sb = is_signed(form.type(1));
        return is_signed_type ? (sb ? &dp2a<true, true> : &dp2a<true, false>)
                              : (sb ? &dp2a<false, true> : &dp2a<false, false>);
    }
    if (form.mnemonic == "dp4a") {
        bool sa = is_signed_type, sb = is_signed(form.type(1));
        return sa ? (sb ? &dp4a<true, true> : &dp4a<true, false>) : (sb ? &dp4a<false, true> : &dp4a<false, false>);
    }
    return nullptr;
}

} // namespace emu::EMU_LEVEL

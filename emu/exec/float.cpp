// SPDX-License-Identifier: Apache-2.0
// Exact floating point: add sub mul fma div rcp sqrt of f32 and f64 in all roundings, f16 and bf16, neg abs copysign
// testp. The host's rounding mode is never touched: directed roundings are corrected from the exact remainder.
// NaN results are the card's (0x7fffffff, 0x7fff).
#include <cmath>

#include "../num/exact64.h"
#include "half.h"

namespace emu::EMU_LEVEL {
namespace {

// --- f32, rounded to nearest: straight vector code ---
struct AddOp {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a + b; }
};
struct SubOp {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a - b; }
};
struct MulOp {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a * b; }
};
struct FmaOp {
    static constexpr int N = 3;
    static EMU_INLINE float f(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};
struct DivOp {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a / b; }
};
struct RcpOp {
    static constexpr int N = 1;
    static EMU_INLINE float f(float a, float, float) { return 1.0f / a; }
};
struct SqrtOp {
    static constexpr int N = 1;
    static EMU_INLINE float f(float a, float, float) { return __builtin_sqrtf(a); }
};

template <class Op, bool FTZ, bool SAT> Flow nearest(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    const float* b = w.reg<float>(in.r[Op::N > 1 ? 2 : 1]);
    const float* c = w.reg<float>(in.r[Op::N > 2 ? 3 : 1]);
    return map_lanes<float>(w, in.r[0], [&](int l) {
        float x = a[l], y = b[l], z = c[l];
        if (FTZ) x = flush(x), y = flush(y), z = flush(z);
        float r = Op::f(x, y, z);
        if (FTZ) r = flush(r);
        return SAT ? clamp01(r) : canonical(r);
    });
}

// --- f32, directed ---
enum Rounding : uint8_t { RN, RZ, RM, RP };

// The next float above, or below; below infinity the largest.
EMU_INLINE float next_float(float f, bool above) {
    const uint32_t u = bits_as<uint32_t>(f), magnitude = u & 0x7fffffffu;
    if (magnitude == 0) return bits_as<float>(above ? 1u : 0x80000001u);
    return bits_as<float>((f > 0) == above ? u + 1 : u - 1);
}
// f is the nearest float; `rest` has the sign of (exact - f).
EMU_INLINE float directed(float f, double rest, int mode) {
    if (rest == 0 || rest != rest) return f;
    if (mode == RP || (mode == RZ && f < 0)) return rest > 0 ? next_float(f, true) : f;
    if (mode == RM || (mode == RZ && f > 0)) return rest < 0 ? next_float(f, false) : f;
    return f;
}
// s + e, of which e is the part that s has lost, as a float. Without a branch: kernels are made of these.
template <int MODE> EMU_INLINE float directed_sum(double s, double e) {
    const float f = float(s);
    const double rest = s - double(f), sign = rest != 0 ? rest : e; // NaN where s is no number, or infinite
    const uint32_t u = bits_as<uint32_t>(f), negative = u >> 31;
    const bool none = u << 1 == 0;
    const bool rises = MODE == RP || (MODE == RZ && negative && !none), falls = MODE == RM || (MODE == RZ && f > 0);
    const uint32_t above = none ? 1u : u + 1 - 2 * negative, below = none ? 0x80000001u : u - 1 + 2 * negative;
    return bits_as<float>(rises && sign > 0 ? above : falls && sign < 0 ? below : u);
}
template <int MODE> EMU_INLINE float directed_fma(double a, double b, double c) {
    const double p = a * b; // floats: the product is exact
    double e;
    const double s = two_sum(p, c, e);
    const float f = directed_sum<MODE>(s, e);
    const bool cancels = MODE == RM && s == 0 && e == 0 && (bits_as<uint64_t>(p) ^ bits_as<uint64_t>(c)) >> 63;
    return cancels ? -0.0f : f;
}
template <class Dir> struct ByMode {
    static float f(float a, float b, float c, int m) {
        return m == RN   ? Dir::template to<RN>(a, b, c)
               : m == RZ ? Dir::template to<RZ>(a, b, c)
               : m == RM ? Dir::template to<RM>(a, b, c)
                         : Dir::template to<RP>(a, b, c);
    }
};
struct AddDir : ByMode<AddDir> {
    template <int MODE> static EMU_INLINE float to(float a, float b, float) { return directed_fma<MODE>(a, 1, b); }
};
struct SubDir : ByMode<SubDir> {
    template <int MODE> static EMU_INLINE float to(float a, float b, float) { return directed_fma<MODE>(a, 1, -b); }
};
struct MulDir : ByMode<MulDir> {
    template <int MODE> static EMU_INLINE float to(float a, float b, float) {
        return directed_sum<MODE>(double(a) * double(b), 0);
    }
};
struct FmaDir : ByMode<FmaDir> {
    template <int MODE> static EMU_INLINE float to(float a, float b, float c) { return directed_fma<MODE>(a, b, c); }
};
struct DivDir {
    static float f(float a, float b, float, int m) {
        float q = a / b;
        if (q != q || std::isinf(a) || std::isinf(b) || b == 0) return q;
        if (std::isinf(q)) return directed(q, q > 0 ? -1 : 1, m);
        double rest = double(a) - double(q) * double(b);
        return directed(q, b > 0 ? rest : -rest, m);
    }
};
struct RcpDir {
    static float f(float a, float, float, int m) { return DivDir::f(1.0f, a, 0, m); }
};
struct SqrtDir {
    static float f(float a, float, float, int m) {
        float q = std::sqrt(a);
        return q == q && !std::isinf(q) ? directed(q, double(a) - double(q) * double(q), m) : q;
    }
};
template <class Op, int N> Flow directed_f32(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    const float* b = w.reg<float>(in.r[N > 1 ? 2 : 1]);
    const float* c = w.reg<float>(in.r[N > 2 ? 3 : 1]);
    int mode = in.sub & 3;
    bool ftz = in.sub & 4, sat = in.sub & 8;
    return map_active<float>(w, in.r[0], [&](int l) {
        float x = a[l], y = b[l], z = c[l];
        if (ftz) x = flush(x), y = flush(y), z = flush(z);
        float r = Op::f(x, y, z, mode);
        if (ftz) r = flush(r);
        return sat ? clamp01(r) : canonical(r);
    });
}

// One of them as nearest() takes it.
template <class Dir, int MODE, int COUNT> struct To {
    static constexpr int N = COUNT;
    static EMU_INLINE float f(float a, float b, float c) { return Dir::template to<MODE>(a, b, c); }
};
template <class Dir, int N> Handler pick_directed(int mode) {
    return mode == RZ   ? &nearest<To<Dir, RZ, N>, false, false>
           : mode == RM ? &nearest<To<Dir, RM, N>, false, false>
                        : &nearest<To<Dir, RP, N>, false, false>;
}

template <class Op, class Dir> Handler pick_f32(const Form& form, Inst& in) {
    bool ftz = form.has("ftz"), sat = form.has("sat");
    int mode = form.has("rz") ? RZ : form.has("rm") ? RM : form.has("rp") ? RP : RN;
    if (mode != RN) {
        if constexpr (std::is_base_of_v<ByMode<Dir>, Dir>)
            if (!ftz && !sat) return pick_directed<Dir, Op::N>(mode);
        in.sub = uint8_t(mode | (ftz ? 4 : 0) | (sat ? 8 : 0));
        return &directed_f32<Dir, Op::N>;
    }
    if (ftz) return sat ? &nearest<Op, true, true> : &nearest<Op, true, false>;
    return sat ? &nearest<Op, false, true> : &nearest<Op, false, false>;
}

// --- f64 ---
constexpr num::Round ROUNDS[] = {num::Round::nearest_even, num::Round::zero, num::Round::down, num::Round::up};
template <class Op> Flow directed_f64(Warp& w, const Inst& in) {
    const double* a = w.reg<double>(in.r[1]);
    const double* b = w.reg<double>(in.r[Op::N > 1 ? 2 : 1]);
    const double* c = w.reg<double>(in.r[Op::N > 2 ? 3 : 1]);
    const num::Round round = ROUNDS[in.sub];
    return map_active<double>(
        w, in.r[0], [&](int l) { return Op::settled(Op::directed(a[l], b[l], c[l], round), a[l], b[l], c[l]); });
}
struct Add64 {
    static constexpr int N = 2;
    static double directed(double a, double b, double, num::Round r) { return num::fma_f64(a, 1, b, r); }
    static EMU_INLINE double settled(double r, double a, double b, double) { return with_payload(r, b, a); }
    static EMU_INLINE double f(double a, double b) { return settled(a + b, a, b, 0); }
};
struct Sub64 {
    static constexpr int N = 2;
    static double directed(double a, double b, double, num::Round r) { return num::fma_f64(a, 1, -b, r); }
    static EMU_INLINE double settled(double r, double a, double b, double) { return with_payload(r, b, a); }
    static EMU_INLINE double f(double a, double b) { return settled(a - b, a, b, 0); }
};
struct Mul64 {
    static constexpr int N = 2;
    static double directed(double a, double b, double, num::Round r) {
        return num::fma_f64(a, b, std::signbit(a) == std::signbit(b) ? 0.0 : -0.0, r);
    }
    static EMU_INLINE double settled(double r, double a, double b, double) { return with_payload(r, b, a); }
    static EMU_INLINE double f(double a, double b) { return settled(a * b, a, b, 0); }
};
struct Div64 {
    static constexpr int N = 2;
    static double directed(double a, double b, double, num::Round r) { return num::divide_f64(a, b, r); }
    static EMU_INLINE double settled(double r, double a, double b, double) { return with_payload(r, a, b); }
    static EMU_INLINE double f(double a, double b) { return settled(a / b, a, b, 0); }
};
struct Fma64 {
    static constexpr int N = 3;
    static double directed(double a, double b, double c, num::Round r) { return num::fma_f64(a, b, c, r); }
    static EMU_INLINE double settled(double r, double a, double b, double c) { return with_payload(r, b, c, a); }
    static EMU_INLINE double f(double a, double b, double c) { return settled(__builtin_fma(a, b, c), a, b, c); }
};
struct Rcp64 {
    static constexpr int N = 1;
    static double directed(double a, double, double, num::Round r) { return num::divide_f64(1, a, r); }
    static EMU_INLINE double settled(double r, double a, double, double) { return with_payload(r, a, a); }
    static EMU_INLINE double f(double a) { return settled(1.0 / a, a, 0, 0); }
};
struct Sqrt64 {
    static constexpr int N = 1;
    static double directed(double a, double, double, num::Round r) { return num::root_f64(a, r); }
    static EMU_INLINE double settled(double r, double a, double, double) { return with_payload(r, a, a); }
    static EMU_INLINE double f(double a) { return settled(__builtin_sqrt(a), a, 0, 0); }
};

// --- f16 and bf16: add, sub, mul are right through f32 (24 >= 2p + 2 bits); fma rounds once, through odd rounding ---
struct HalfAdd {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a + b; }
};
struct HalfSub {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a - b; }
};
struct HalfMul {
    static constexpr int N = 2;
    static EMU_INLINE float f(float a, float b, float) { return a * b; }
};
struct HalfFma {
    static constexpr int N = 3;
    static EMU_INLINE float f(float a, float b, float c) {
        double e, s = two_sum(double(a) * double(b), c, e);
        return to_odd(s, e == e ? e : 0);
    }
};
template <bool BF> EMU_INLINE uint32_t finish(float r, int mode) {
    uint32_t h = narrow<BF>(r);
    bool nan = (h & 0x7fff) > (BF ? 0x7f80u : 0x7c00u);
    if (mode & 1) h = nan || (h & 0x8000) ? 0 : h > (BF ? 0x3f80u : 0x3c00u) ? (BF ? 0x3f80u : 0x3c00u) : h; // sat
    if (mode & 2) h = nan ? 0x7fff : (h & 0x8000 ? 0 : h);                                                   // relu
    return h;
}
template <bool BF> EMU_INLINE float operand(uint32_t h, int mode) {
    if ((mode & 4) && !(h & (BF ? 0x7f80u : 0x7c00u))) h &= 0x8000; // ftz
    return widen<BF>(h);
}
template <class Op, bool BF, bool PACKED> Flow half_op(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const uint32_t* c = w.reg<uint32_t>(in.r[Op::N > 2 ? 3 : 2]);
    int mode = in.sub;
    auto one = [&](uint32_t x, uint32_t y, uint32_t z) {
        uint32_t h = finish<BF>(
            Op::f(operand<BF>(x & 0xffff, mode), operand<BF>(y & 0xffff, mode), operand<BF>(z & 0xffff, mode)), mode);
        return (mode & 4) && !(h & (BF ? 0x7f80u : 0x7c00u)) ? h & 0x8000 : h;
    };
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t r = one(a[l], b[l], c[l]);
        if (PACKED) r |= one(a[l] >> 16, b[l] >> 16, c[l] >> 16) << 16;
        return r;
    });
}
template <class Op> Handler pick_half(const Form& form, Inst& in) {
    in.sub = uint8_t((form.has("sat") ? 1 : 0) | (form.has("relu") ? 2 : 0) | (form.has("ftz") ? 4 : 0));
    switch (form.type()) {
    case Type::f16: return &half_op<Op, false, false>;
    case Type::f16x2: return &half_op<Op, false, true>;
    case Type::bf16: return &half_op<Op, true, false>;
    case Type::bf16x2: return &half_op<Op, true, true>;
    default: return nullptr;
    }
}

// --- f32 with f16 or bf16 sources ---
template <class Dir, int N, bool BF> Flow mixed(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    const float* c = w.reg<float>(in.r[N > 2 ? 3 : 2]);
    int mode = in.sub & 3;
    bool sat = in.sub & 8;
    return map_active<float>(w, in.r[0], [&](int l) {
        float x = widen<BF>(a[l]);
        float r = N > 2 ? Dir::f(x, widen<BF>(b[l]), c[l], mode) : Dir::f(x, c[l], 0, mode);
        return sat ? clamp01(r) : canonical(r);
    });
}

// --- pairs of f32 in a 64-bit register ---
template <class Dir, int N> Flow pair_of_floats(Warp& w, const Inst& in) {
    const uint64_t *a = w.reg<uint64_t>(in.r[1]), *b = w.reg<uint64_t>(in.r[2]),
                   *c = w.reg<uint64_t>(in.r[N > 2 ? 3 : 2]);
    const int mode = in.sub & 3;
    const bool ftz = in.sub & 4;
    auto one = [&](uint64_t x, uint64_t y, uint64_t z) {
        auto in_float = [&](uint64_t v) {
            const float f = bits_as<float>(uint32_t(v));
            return ftz ? flush(f) : f;
        };
        const float r = canonical(Dir::f(in_float(x), in_float(y), in_float(z), mode));
        return uint64_t(bits_as<uint32_t>(ftz ? flush(r) : r));
    };
    return map_active<uint64_t>(
        w, in.r[0], [&](int l) { return one(a[l], b[l], c[l]) | one(a[l] >> 32, b[l] >> 32, c[l] >> 32) << 32; });
}

// --- signs ---
template <class T, int OP> Flow sign_bits(Warp& w, const Inst& in) { // 0 neg, 1 abs; in.imm: the sign bits
    const void* a = w.regs + size_t(in.r[1]) * 32;
    T mask = T(in.imm);
    return map_lanes<T>(w, in.r[0], [&](int l) { return OP == 0 ? T(get<T>(a, l) ^ mask) : T(get<T>(a, l) & ~mask); });
}
// f32 and f64 go through the adder: a NaN comes out as the canonical one, and of f64 as it was, quiet.
template <int OP, bool FTZ> Flow sign_f32(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    return map_lanes<float>(w, in.r[0], [&](int l) {
        const float x = FTZ ? flush(a[l]) : a[l];
        return canonical(OP == 0 ? -x : __builtin_fabsf(x));
    });
}
template <int OP> Flow sign_f64(Warp& w, const Inst& in) {
    const double* a = w.reg<double>(in.r[1]);
    return map_lanes<double>(w, in.r[0], [&](int l) {
        return a[l] != a[l] ? payload(a[l]) : OP == 0 ? -a[l] : __builtin_fabs(a[l]);
    });
}
template <int OP> Handler pick_sign(const Form& form, Inst& in) {
    switch (form.type()) {
    case Type::f32: return form.has("ftz") ? &sign_f32<OP, true> : &sign_f32<OP, false>;
    case Type::f16x2:
    case Type::bf16x2: in.imm = 0x80008000; return &sign_bits<uint32_t, OP>;
    case Type::f16:
    case Type::bf16: in.imm = 0x8000; return &sign_bits<uint16_t, OP>;
    case Type::f64: return &sign_f64<OP>;
    default: return nullptr;
    }
}
template <class T> Flow copysign_bits(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    const T* b = w.reg<T>(in.r[2]);
    constexpr T S = T(1) << (sizeof(T) * 8 - 1);
    return map_lanes<T>(w, in.r[0], [&](int l) { return T((a[l] & S) | (b[l] & ~S)); });
}
template <class T> Flow testp(Warp& w, const Inst& in) {
    const T* a = w.reg<T>(in.r[1]);
    constexpr int MANTISSA = sizeof(T) == 4 ? 23 : 52;
    constexpr T MAGNITUDE = T(~T(0)) >> 1, INF = MAGNITUDE >> MANTISSA << MANTISSA;
    int what = in.sub;
    set_pred(w, in.r[0], test_lanes([&](int l) {
                 T m = a[l] & MAGNITUDE;
                 switch (what) {
                 case 0: return m < INF;
                 case 1: return m == INF;
                 case 2: return m <= INF;
                 case 3: return m > INF;
                 case 4: return m < INF && ((m >> MANTISSA) != 0 || m == 0); // zero counts as normal, as on the card
                 default: return m != 0 && (m >> MANTISSA) == 0;
                 }
             }));
    return Flow::next;
}
int direction(const Form& form) { return form.has("rz") ? RZ : form.has("rm") ? RM : form.has("rp") ? RP : RN; }
template <class Op> Handler pick_f64(const Form& form, Inst& in) {
    in.sub = uint8_t(direction(form));
    if (in.sub != RN) return &directed_f64<Op>;
    if constexpr (Op::N == 1) return &unary<Op, double>;
    else if constexpr (Op::N == 2) return &binary<Op, double>;
    else return &ternary<Op, double>;
}
template <class Op, class Dir, class Half, class Wide> Handler arithmetic(const Form& form, Inst& in) {
    if (form.type() == Type::f32x2) {
        in.sub = uint8_t(direction(form) | (form.has("ftz") ? 4 : 0));
        return &pair_of_floats<Dir, Op::N>;
    }
    if (form.types.size() == 2) { // f32 with a half
        bool bf = form.type(1) == Type::bf16;
        in.sub = uint8_t(direction(form) | (form.has("sat") ? 8 : 0));
        return bf ? &mixed<Dir, Op::N, true> : &mixed<Dir, Op::N, false>;
    }
    if (form.type() == Type::f32) return pick_f32<Op, Dir>(form, in);
    if (form.type() == Type::f64) return pick_f64<Wide>(form, in);
    return pick_half<Half>(form, in);
}
} // namespace

Handler pick_float2(const Form& form, Inst& in) {
    std::string_view m = form.mnemonic;
    bool wide = form.type() == Type::f64;
    if (m == "add") return arithmetic<AddOp, AddDir, HalfAdd, Add64>(form, in);
    if (m == "sub") return arithmetic<SubOp, SubDir, HalfSub, Sub64>(form, in);
    if (m == "mul") return arithmetic<MulOp, MulDir, HalfMul, Mul64>(form, in);
    if (m == "fma" || m == "mad") return arithmetic<FmaOp, FmaDir, HalfFma, Fma64>(form, in);
    if (m == "div") return wide ? pick_f64<Div64>(form, in) : pick_f32<DivOp, DivDir>(form, in);
    if (m == "rcp") return wide ? pick_f64<Rcp64>(form, in) : pick_f32<RcpOp, RcpDir>(form, in);
    if (m == "sqrt") return wide ? pick_f64<Sqrt64>(form, in) : pick_f32<SqrtOp, SqrtDir>(form, in);
    if (m == "neg") return pick_sign<0>(form, in);
    if (m == "abs") return pick_sign<1>(form, in);
    if (m == "copysign") return wide ? &copysign_bits<uint64_t> : &copysign_bits<uint32_t>;
    const std::string_view tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    for (uint8_t i = 0; i < 6; i++)
        if (form.has(tests[i])) in.sub = i;
    return wide ? &testp<uint64_t> : &testp<uint32_t>;
}

} // namespace emu::EMU_LEVEL

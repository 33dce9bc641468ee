// SPDX-License-Identifier: Apache-2.0
// Approximate functions: computed in double precision and rounded to nearest, which is within every documented bound.
// With Options::fuzz_approx each result errs by a seeded amount up to that bound, so that nothing relies on luck.
#include "elementary.h"
#include "half.h"

namespace emu::EMU_LEVEL {
namespace {

struct Ex2 { // relative bound, absolute bound
    static constexpr double REL = 0x1p-22, ABS = 0;
    static EMU_INLINE double f(double a, double) {
        double x = a < -400 ? -400 : a > 400 ? 400 : a; // far outside float's range
        return a == a ? exp2_double(x) : a;
    }
};
struct Lg2 {
    static constexpr double REL = 0x1p-22, ABS = 0;
    static EMU_INLINE double f(double a, double) { return log2_double(a); }
};
struct Rcp {
    static constexpr double REL = 0x1p-23, ABS = 0;
    static EMU_INLINE double f(double a, double) { return 1.0 / a; }
};
struct Rsqrt {
    static constexpr double REL = 0x1.1p-23, ABS = 0;
    static EMU_INLINE double f(double a, double) { return 1.0 / __builtin_sqrt(a); }
};
struct Sqrt {
    static constexpr double REL = 0x1p-23, ABS = 0;
    static EMU_INLINE double f(double a, double) { return __builtin_sqrt(a); }
};
struct Sin {
    static constexpr double REL = 0, ABS = 0x1.6p-21;
    static EMU_INLINE double f(double a, double) { return sine_double(a, 0); }
};
struct Cos {
    static constexpr double REL = 0, ABS = 0x1.6p-21;
    static EMU_INLINE double f(double a, double) { return sine_double(a, 1); }
};
struct Tanh {
    static constexpr double REL = 0x1p-11, ABS = 0;
    static EMU_INLINE double f(double a, double) { return tanh_double(a); }
};
struct Div {
    static constexpr double REL = 0x1p-22, ABS = 0;
    static EMU_INLINE double f(double a, double b) { return a / b; }
};

// A number in [-1, 1] that depends on the seed and the input only.
EMU_INLINE double noise(uint64_t seed, uint32_t x) {
    uint64_t h = (seed + x) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    return double(int64_t(h)) * 0x1p-63;
}

template <class Op, bool FTZ, int N> Flow approx(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    const float* b = w.reg<float>(in.r[N > 1 ? 2 : 1]);
    const Options& o = w.launch->options;
    auto one = [&](int l) {
        float x = FTZ ? flush(a[l]) : a[l], y = FTZ ? flush(b[l]) : b[l];
        return Op::f(x, y);
    };
    auto finish = [](double d) {
        float r = float(d);
        return canonical(FTZ ? flush(r) : r);
    };
    if (!o.fuzz_approx) return map_lanes<float>(w, in.r[0], [&](int l) { return finish(one(l)); });
    return map_active<float>(w, in.r[0], [&](int l) {
        double n = noise(o.seed, bits_as<uint32_t>(a[l])) * 0.75, d = one(l); // the rounding takes the rest
        return finish(d * (1 + n * Op::REL) + n * Op::ABS);
    });
}

template <class Op, bool BF> Flow approx_half(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    bool packed = in.sub;
    return map_active<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t r = narrow<BF>(float(Op::f(widen<BF>(a[l]), 0)));
        if (packed) r |= narrow<BF>(float(Op::f(widen<BF>(a[l] >> 16), 0))) << 16;
        return r;
    });
}
// f64 with .ftz knows the upper word alone: the lower one of the source is not looked at, that of the result is 0.
template <class Op> Flow approx_upper(Warp& w, const Inst& in) {
    const uint64_t* a = w.reg<uint64_t>(in.r[1]);
    constexpr uint64_t UPPER = ~0ull << 32, EXPONENT = 0x7ffull << 52;
    return map_active<uint64_t>(w, in.r[0], [&](int l) {
        auto flushed = [&](uint64_t v) { return v & EXPONENT ? v : v & 1ull << 63; };
        const double r = Op::f(bits_as<double>(flushed(a[l] & UPPER)), 0);
        if (r != r) return 0x7fffffffull << 32;
        const uint64_t bits = bits_as<uint64_t>(r), up = bits + 0x7fffffff + (bits >> 32 & 1);
        return flushed((bits & EXPONENT) == EXPONENT ? bits : up & UPPER);
    });
}
Flow rsqrt64(Warp& w, const Inst& in) {
    const double* a = w.reg<double>(in.r[1]);
    return map_active<double>(w, in.r[0], [&](int l) {
        const double r = Rsqrt::f(a[l], 0);
        return r == r ? r : bits_as<double>(0x7fffffffffffffffull);
    });
}
template <class Op, int N = 1> Handler pick(const Form& form, Inst& in) {
    switch (form.type()) {
    case Type::f32: return form.has("ftz") ? &approx<Op, true, N> : &approx<Op, false, N>;
    case Type::f16x2: in.sub = 1; [[fallthrough]];
    case Type::f16: return &approx_half<Op, false>;
    case Type::bf16x2: in.sub = 1; [[fallthrough]];
    case Type::bf16: return &approx_half<Op, true>;
    case Type::f64: return &approx_upper<Op>;
    default: return nullptr;
    }
}
} // namespace

Handler pick_approx(const Form& form, Inst& in) {
    std::string_view m = form.mnemonic;
    if (m == "ex2") return pick<Ex2>(form, in);
    if (m == "lg2") return pick<Lg2>(form, in);
    if (m == "rcp") return pick<Rcp>(form, in);
    if (m == "rsqrt" && form.type() == Type::f64 && !form.has("ftz")) return &rsqrt64;
    if (m == "rsqrt") return pick<Rsqrt>(form, in);
    if (m == "sqrt") return pick<Sqrt>(form, in);
    if (m == "sin") return pick<Sin>(form, in);
    if (m == "cos") return pick<Cos>(form, in);
    if (m == "tanh") return pick<Tanh>(form, in);
    if (m == "div") return pick<Div, 2>(form, in);
    return nullptr;
}

} // namespace emu::EMU_LEVEL

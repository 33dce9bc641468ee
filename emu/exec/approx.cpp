// SPDX-License-Identifier: Apache-2.0
// Approximate functions. Options::approx says which of the results that PTX allows are given: those of an H200, that is
// of its special function unit between the multiplications that ptxas puts around it; those nearest to the true ones;
// or such that err by a seeded amount up to the documented bound, so that nothing relies on luck.
#include "../num/mufu.h"
#include "elementary.h"
#include "half.h"

namespace emu::EMU_LEVEL {
namespace {

constexpr float LEAST_NORMAL = 0x1p-126f, LARGE = 0x1p126f;

EMU_INLINE float magnitude(float f) { return bits_as<float>(bits_as<uint32_t>(f) & 0x7fffffffu); }

// Of the float nearest to r, if that is normal.
EMU_INLINE double last_place(double r) { return bits_as<double>(bits_as<uint64_t>(r) & 0x7ffull << 52) * 0x1p-23; }

// Without .ftz a subnormal argument of most functions is first multiplied by 2^24, and the result set right.
template <num::MufuFunction num::MufuUnit::*U> struct Scaled {
    static constexpr auto UNIT = U;
    static EMU_INLINE bool tiny(float a) { return magnitude(a) < LEAST_NORMAL; }
    static EMU_INLINE float before(float a) { return tiny(a) ? a * 0x1p24f : a; }
};
// FULL: with whatever is done around the unit without .ftz.
template <num::MufuFunction num::MufuUnit::*U, num::MufuFunction num::MufuUnit::*F = U> struct Plain {
    static constexpr auto UNIT = U, FULL = F;
};
// f: the true value r; error: the documented bound of the distance from it, less what the rounding may take.
struct Ex2 : Plain<&num::MufuUnit::ex2, &num::MufuUnit::ex2_full> {
    static EMU_INLINE double f(double a) {
        double x = a < -400 ? -400 : a > 400 ? 400 : a; // far outside float's range
        return a == a ? exp2_double(x) : a;
    }
    static EMU_INLINE double error(double, double r) { return 1.5 * last_place(r); }
};
struct Lg2 : Scaled<&num::MufuUnit::lg2> {
    static EMU_INLINE float after(float r, float a) { return tiny(a) ? r - 24 : r; }
    static EMU_INLINE double f(double a) { return log2_double(a); }
    static EMU_INLINE double error(double a, double r) { return (a > 0.5 && a < 2 ? 1 : r) * 0x1.8p-23; }
};
struct Rcp {
    static constexpr auto UNIT = &num::MufuUnit::rcp;
    static EMU_INLINE float scale(float a) {
        return magnitude(a) > LARGE ? 0.25f : magnitude(a) < LEAST_NORMAL ? 0x1p24f : 1;
    }
    static EMU_INLINE float before(float a) { return a * scale(a); }
    static EMU_INLINE float after(float r, float a) { return r * scale(a); }
    static EMU_INLINE double f(double a) { return 1.0 / a; }
    static EMU_INLINE double error(double, double r) { return 0.5 * last_place(r); }
};
struct Rsqrt : Scaled<&num::MufuUnit::rsqrt> {
    static EMU_INLINE float after(float r, float a) { return tiny(a) ? r * 0x1p12f : r; }
    static EMU_INLINE double f(double a) { return 1.0 / __builtin_sqrt(a); }
    static EMU_INLINE double error(double, double r) { return r * 0x1.24p-24; }
};
struct Sqrt : Scaled<&num::MufuUnit::sqrt> {
    static EMU_INLINE float after(float r, float a) { return tiny(a) ? r * 0x1p-12f : r; }
    static EMU_INLINE double f(double a) { return __builtin_sqrt(a); }
    static EMU_INLINE double error(double, double r) { return r * 0x1p-24; }
};
EMU_INLINE double turn_error(double a) { // nothing is documented beyond 100 pi
    return __builtin_fabs(a) <= 6.2831853 ? 0x1.5p-21 : 0x1.3ap-15;
}
struct Sin : Plain<&num::MufuUnit::sin> {
    static EMU_INLINE double f(double a) { return sine_double(a, 0); }
    static EMU_INLINE double error(double a, double) { return turn_error(a); }
};
struct Cos : Plain<&num::MufuUnit::cos> {
    static EMU_INLINE double f(double a) { return sine_double(a, 1); }
    static EMU_INLINE double error(double a, double) { return turn_error(a); }
};
struct Tanh : Plain<&num::MufuUnit::tanh> {
    static EMU_INLINE double f(double a) { return tanh_double(a); }
    static EMU_INLINE double error(double, double r) { return r * 0x1.ff8p-12; }
};

// A number in [-1, 1] that depends on the seed and the input only.
EMU_INLINE double noise(uint64_t seed, uint32_t x) {
    uint64_t h = (seed + x) * 0x9e3779b97f4a7c15ull;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    return double(int64_t(h)) * 0x1p-63;
}
// The true value r off by up to `error`, but never beyond `limit`.
EMU_INLINE double blurred(const Options& o, uint32_t x, double r, double error, double limit) {
    if (o.approx != Approx::fuzz || !(__builtin_fabs(r) < __builtin_inf())) return r;
    const double d = r + noise(o.seed, x) * error;
    return __builtin_fabs(d) > limit ? __builtin_copysign(limit, d) : d;
}
template <bool FTZ> EMU_INLINE float finish(double d) {
    float r = float(d);
    return canonical(FTZ ? flush(r) : r);
}

Flow by_unit(Warp& w, const Inst& in, num::MufuFunction unit) {
    const uint32_t* x = w.reg<uint32_t>(in.r[1]);
    if (w.full()) return unit(x, w.reg<uint32_t>(in.r[0])), Flow::next;
    alignas(64) uint32_t y[32];
    unit(x, y);
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return y[l]; });
}
template <class Op> Flow around_unit(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    alignas(64) uint32_t x[32], y[32];
    EMU_LANES
    for (int l = 0; l < 32; l++) x[l] = bits_as<uint32_t>(Op::before(a[l]));
    (num::best_mufu.*Op::UNIT)(x, y);
    return map_lanes<float>(w, in.r[0], [&](int l) { return canonical(Op::after(bits_as<float>(y[l]), a[l])); });
}
template <class Op, bool FTZ> Flow approx(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    const Options& o = w.launch->options;
    if (o.approx == Approx::card) {
        if constexpr (FTZ) return by_unit(w, in, num::best_mufu.*Op::UNIT);
        else if constexpr (requires { Op::FULL; }) return by_unit(w, in, num::best_mufu.*Op::FULL);
        else return around_unit<Op>(w, in);
    }
    constexpr double LIMIT = std::is_same_v<Op, Tanh> ? 1 : __builtin_inf();
    return map_lanes<float>(w, in.r[0], [&](int l) {
        const float x = FTZ ? flush(a[l]) : a[l];
        const double r = Op::f(x);
        return finish<FTZ>(blurred(o, bits_as<uint32_t>(a[l]), r, Op::error(x, r), LIMIT));
    });
}

// a / b. On the card both are scaled where the reciprocal would be lost, but .approx leaves large divisors alone.
template <bool FTZ, bool FULL> Flow divide(Warp& w, const Inst& in) {
    const float *a = w.reg<float>(in.r[1]), *b = w.reg<float>(in.r[2]);
    const Options& o = w.launch->options;
    auto flushed = [](float f) { return FTZ ? flush(f) : f; };
    auto scale = [](float d) {
        return FULL && magnitude(d) > LARGE ? 0.25f : !FTZ && magnitude(d) < LEAST_NORMAL ? 0x1p24f : 1;
    };
    if (o.approx == Approx::card) {
        alignas(64) uint32_t x[32], y[32];
        EMU_LANES
        for (int l = 0; l < 32; l++) x[l] = bits_as<uint32_t>(b[l] * scale(b[l]));
        num::best_mufu.rcp(x, y);
        return map_lanes<float>(w, in.r[0], [&](int l) {
            return canonical(flushed(bits_as<float>(y[l]) * flushed(flushed(a[l]) * scale(b[l]))));
        });
    }
    return map_lanes<float>(w, in.r[0], [&](int l) {
        const double r = double(flushed(a[l])) / flushed(b[l]);
        return finish<FTZ>(blurred(o, bits_as<uint32_t>(a[l]), r, 1.5 * last_place(r), __builtin_inf()));
    });
}

// Halves: the float's result cut. An ex2 of 2^16 is infinite.
template <bool BF> EMU_INLINE uint32_t cut_half(uint32_t bits) {
    const float f = bits_as<float>(bits);
    if (BF) return f == f ? bits >> 16 : 0x7fff;
    const uint32_t r = float_to_half(f);
    return magnitude(half_to_float(r)) > magnitude(f) && magnitude(f) < 65536 ? r - 1 : r;
}
template <class Op, bool BF>
EMU_INLINE void half_lanes(const Options& o, const uint32_t* a, unsigned shift, uint32_t* r) {
    alignas(64) uint32_t x[32];
    EMU_LANES
    for (int l = 0; l < 32; l++) x[l] = bits_as<uint32_t>(widen<BF>(a[l] >> shift));
    if (o.approx == Approx::card) {
        (num::best_mufu.*Op::UNIT)(x, r);
        EMU_LANES
        for (int l = 0; l < 32; l++) r[l] = cut_half<BF>(r[l]);
    } else {
        EMU_LANES
        for (int l = 0; l < 32; l++) r[l] = narrow<BF>(float(Op::f(bits_as<float>(x[l]))));
    }
}
template <class Op, bool BF> Flow approx_half(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    alignas(64) uint32_t low[32], high[32] = {};
    half_lanes<Op, BF>(w.launch->options, a, 0, low);
    if (in.sub) half_lanes<Op, BF>(w.launch->options, a, 16, high); // packed
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) { return low[l] | high[l] << 16; });
}

// f64 with .ftz knows the upper word alone: the lower one of the source is not looked at, that of the result is 0.
// The card takes the float of the same significand and gives as much of it as the word holds.
template <class Op> EMU_INLINE uint64_t upper_of(uint32_t word, uint32_t y) {
    constexpr bool ROOT = std::is_same_v<Op, Rsqrt>;
    const int exponent = int(word >> 20 & 2047), power = exponent - 1023;
    const uint32_t sign = word & 1u << 31,
                   top = exponent == 2047 && (word & 0xfffff || (ROOT && sign)) ? 0x7fffffffu : 0;
    const int up = (ROOT ? -(power >> 1) : -power) + 1023 - 127 + int(y >> 23 & 255);
    const uint32_t finite = up < 1 ? 0 : uint32_t(up) << 20 | (y & 0x7fffff) >> 3;
    const uint32_t r = exponent == 0      ? sign | 0x7ff00000
                       : exponent == 2047 ? (top    ? top
                                             : ROOT ? 0
                                                    : sign)
                       : ROOT && sign     ? 0x7fffffffu
                                          : sign | finite;
    return uint64_t(r) << 32;
}
EMU_INLINE uint64_t flushed64(uint64_t v) { return v & 0x7ffull << 52 ? v : v & 1ull << 63; }
template <class Op> Flow approx_upper(Warp& w, const Inst& in) {
    const uint64_t* a = w.reg<uint64_t>(in.r[1]);
    if (w.launch->options.approx == Approx::card) {
        alignas(64) uint32_t x[32], y[32];
        for (int l = 0; l < 32; l++) { // an even power of two stays one
            const uint32_t word = uint32_t(a[l] >> 32);
            x[l] = (std::is_same_v<Op, Rsqrt> && !(word >> 20 & 1) ? 0x40000000 : 0x3f800000) | (word & 0xfffff) << 3;
        }
        (num::best_mufu.*Op::UNIT)(x, y);
        return map_lanes<uint64_t>(w, in.r[0], [&](int l) { return upper_of<Op>(uint32_t(a[l] >> 32), y[l]); });
    }
    return map_active<uint64_t>(w, in.r[0], [&](int l) {
        const double r = Op::f(bits_as<double>(flushed64(a[l] & ~0ull << 32)));
        if (r != r) return uint64_t(0x7fffffff) << 32;
        const uint64_t bits = bits_as<uint64_t>(r), up = bits + 0x7fffffff + (bits >> 32 & 1);
        return flushed64((bits & 0x7ffull << 52) == 0x7ffull << 52 ? bits : up & ~uint64_t(0) << 32);
    });
}
Flow rsqrt64(Warp& w, const Inst& in) {
    const double* a = w.reg<double>(in.r[1]);
    return map_active<double>(w, in.r[0], [&](int l) {
        const double r = Rsqrt::f(a[l]);
        return r == r ? r : bits_as<double>(0x7fffffffffffffffull);
    });
}
template <class Op> Handler pick(const Form& form, Inst& in) {
    switch (form.type()) {
    case Type::f32: return form.has("ftz") ? &approx<Op, true> : &approx<Op, false>;
    case Type::f16x2: in.sub = 1; [[fallthrough]];
    case Type::f16: return &approx_half<Op, false>;
    case Type::bf16x2: in.sub = 1; [[fallthrough]];
    case Type::bf16: return &approx_half<Op, true>;
    default: return nullptr;
    }
}
template <class Op> Handler pick_upper(const Form& form, Inst& in) {
    return form.type() == Type::f64 ? &approx_upper<Op> : pick<Op>(form, in);
}
Handler pick_divide(const Form& form) {
    if (form.has("full")) return form.has("ftz") ? &divide<true, true> : &divide<false, true>;
    return form.has("ftz") ? &divide<true, false> : &divide<false, false>;
}
} // namespace

Handler pick_approx(const Form& form, Inst& in) {
    std::string_view m = form.mnemonic;
    if (m == "ex2") return pick<Ex2>(form, in);
    if (m == "lg2") return pick<Lg2>(form, in);
    if (m == "rcp") return pick_upper<Rcp>(form, in);
    if (m == "rsqrt" && form.type() == Type::f64 && !form.has("ftz")) return &rsqrt64;
    if (m == "rsqrt") return pick_upper<Rsqrt>(form, in);
    if (m == "sqrt") return pick<Sqrt>(form, in);
    if (m == "sin") return pick<Sin>(form, in);
    if (m == "cos") return pick<Cos>(form, in);
    if (m == "tanh") return pick<Tanh>(form, in);
    if (m == "div") return pick_divide(form);
    return nullptr;
}

} // namespace emu::EMU_LEVEL

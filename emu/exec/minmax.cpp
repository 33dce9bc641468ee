// SPDX-License-Identifier: Apache-2.0
// min and max of integers, floats and halves. Floats: a NaN loses unless .NaN is asked for; -0 is less than +0.
#include "half.h"

namespace emu::EMU_LEVEL {
namespace {

struct Min {
    template <class T> static EMU_INLINE T f(T a, T b) { return a < b ? a : b; }
};
struct Max {
    template <class T> static EMU_INLINE T f(T a, T b) { return a > b ? a : b; }
};
template <bool MAX> struct Relu {
    static EMU_INLINE int32_t f(int32_t a, int32_t b) {
        int32_t m = MAX ? (a > b ? a : b) : (a < b ? a : b);
        return m > 0 ? m : 0;
    }
};

template <bool MAX, bool SIGNED> Flow halves(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    bool relu = in.sub;
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t r = 0;
        for (int s = 0; s < 32; s += 16) {
            int32_t x = SIGNED ? int16_t(a[l] >> s) : int32_t((a[l] >> s) & 0xffff);
            int32_t y = SIGNED ? int16_t(b[l] >> s) : int32_t((b[l] >> s) & 0xffff);
            int32_t m = MAX ? (x > y ? x : y) : (x < y ? x : y);
            if (relu && m < 0) m = 0;
            r |= (uint32_t(m) & 0xffff) << s;
        }
        return r;
    });
}

// x, y as ordered integers: no NaN here. F is float or double, chosen by comparing and by the sign of equal zeros.
template <bool MAX, bool NAN_WINS, class F, class U> EMU_INLINE F choose(F x, F y, U nan) {
    F r = MAX ? (x > y ? x : y) : (x < y ? x : y);
    U bx = bits_as<U>(x), by = bits_as<U>(y);
    r = x == y ? bits_as<F>(MAX ? U(bx & by) : U(bx | by)) : r;
    F one = x == x ? x : y == y ? y : bits_as<F>(nan);
    F odd = NAN_WINS ? bits_as<F>(nan) : one;
    return x == x && y == y ? r : odd;
}

template <bool MAX, bool NAN_WINS> Flow f32(Warp& w, const Inst& in) {
    const float* a = w.reg<float>(in.r[1]);
    const float* b = w.reg<float>(in.r[2]);
    bool ftz = in.sub & 1;
    return map_lanes<float>(w, in.r[0], [&](int l) {
        float x = ftz ? flush(a[l]) : a[l], y = ftz ? flush(b[l]) : b[l];
        return choose<MAX, NAN_WINS>(x, y, 0x7fffffffu);
    });
}
template <bool MAX> Flow f32_general(Warp& w, const Inst& in) { // three inputs, .abs, .xorsign.abs
    const float* a = w.reg<float>(in.r[1]);
    const float* b = w.reg<float>(in.r[2]);
    const float* c = w.reg<float>(in.r[in.nregs > 3 ? 3 : 2]);
    bool ftz = in.sub & 1, nan = in.sub & 2, abs = in.sub & 4, xorsign = in.sub & 8;
    return map_lanes<float>(w, in.r[0], [&](int l) {
        float v[3] = {a[l], b[l], c[l]};
        uint32_t sign = (bits_as<uint32_t>(v[0]) ^ bits_as<uint32_t>(v[1])) & 0x80000000u;
        for (float& x : v) {
            if (ftz) x = flush(x);
            if (abs) x = __builtin_fabsf(x);
        }
        float r = nan ? choose<MAX, true>(v[0], v[1], 0x7fffffffu) : choose<MAX, false>(v[0], v[1], 0x7fffffffu);
        r = nan ? choose<MAX, true>(r, v[2], 0x7fffffffu) : choose<MAX, false>(r, v[2], 0x7fffffffu);
        return xorsign && r == r ? bits_as<float>(bits_as<uint32_t>(r) | sign) : r;
    });
}
template <bool MAX> Flow f64(Warp& w, const Inst& in) {
    const double* a = w.reg<double>(in.r[1]);
    const double* b = w.reg<double>(in.r[2]);
    return map_lanes<double>(w, in.r[0], [&](int l) {
        return with_payload(choose<MAX, false>(a[l], b[l], 0x7fffffffffffffffull), b[l], a[l]);
    });
}
template <bool MAX, bool BF> Flow half(Warp& w, const Inst& in) {
    const uint32_t* a = w.reg<uint32_t>(in.r[1]);
    const uint32_t* b = w.reg<uint32_t>(in.r[2]);
    bool ftz = in.sub & 1, nan = in.sub & 2, packed = in.sub & 4, magnitudes = in.sub & 8; // .xorsign.abs
    auto one = [&](uint32_t x, uint32_t y) {
        uint32_t exponent = BF ? 0x7f80 : 0x7c00;
        const uint32_t sign = magnitudes ? (x ^ y) & 0x8000 : 0;
        if (magnitudes) x &= 0x7fff, y &= 0x7fff;
        if (ftz && !(x & exponent)) x &= 0x8000;
        if (ftz && !(y & exponent)) y &= 0x8000;
        float r = nan ? choose<MAX, true>(widen<BF>(x), widen<BF>(y), 0x7fffffffu)
                      : choose<MAX, false>(widen<BF>(x), widen<BF>(y), 0x7fffffffu);
        return narrow<BF>(r) | (r == r ? sign : 0);
    };
    return map_lanes<uint32_t>(w, in.r[0], [&](int l) {
        uint32_t r = one(a[l] & 0xffff, b[l] & 0xffff);
        return packed ? r | one(a[l] >> 16, b[l] >> 16) << 16 : r;
    });
}

template <bool MAX> Handler pick(const Form& form, Inst& in) {
    Type t = form.type();
    bool ftz = form.has("ftz"), nan = form.has("NaN");
    if (t == Type::u16x2) return &halves<MAX, false>;
    if (t == Type::s16x2) {
        in.sub = form.has("relu");
        return &halves<MAX, true>;
    }
    if (form.has("relu")) return &binary<Relu<MAX>, int32_t>;
    if (t == Type::f32) {
        in.sub = uint8_t((ftz ? 1 : 0) | (nan ? 2 : 0) | (form.has("abs") ? 4 : 0) | (form.has("xorsign") ? 8 : 0));
        if (in.nregs > 3 || (in.sub & 12)) return &f32_general<MAX>;
        return nan ? &f32<MAX, true> : &f32<MAX, false>;
    }
    if (t == Type::f64) return &f64<MAX>;
    if (is_float(t)) {
        bool packed = t == Type::f16x2 || t == Type::bf16x2, bf = t == Type::bf16 || t == Type::bf16x2;
        in.sub = uint8_t((ftz ? 1 : 0) | (nan ? 2 : 0) | (packed ? 4 : 0) | (form.has("xorsign") ? 8 : 0));
        return bf ? &half<MAX, true> : &half<MAX, false>;
    }
    using Op = std::conditional_t<MAX, Max, Min>;
    return pick_int(t, [](auto z) -> Handler { return &binary<Op, decltype(z)>; });
}
} // namespace

Handler pick_minmax(const Form& form, Inst& in) {
    return form.mnemonic == "max" ? pick<true>(form, in) : pick<false>(form, in);
}

} // namespace emu::EMU_LEVEL

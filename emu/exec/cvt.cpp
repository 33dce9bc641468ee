// SPDX-License-Identifier: Apache-2.0
// The cvt family: everyday conversions as vector loops, every other one lane by lane through emu/num, exactly.
// Chosen by pick_cvt at load time. Knows Warp and Inst, nothing of scheduling or checks.
#include "handlers.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "../num/format.h"

namespace emu::EMU_LEVEL {
namespace {

using num::Format;
using num::Parts;
using num::Round;

// What one conversion does; packed into Inst::imm.
struct Spec {
    Type to, from;
    uint8_t register_bits; // of the destination register: a narrower result is extended to it
    Round round;
    uint8_t to_integral : 1, flush : 1, saturate : 1, relu : 1, finite : 1;
    uint8_t wide_source; // the source register has 64 bits, however narrow its type is
    uint8_t pad[2];
};
static_assert(sizeof(Spec) == 8);

Spec spec_of(const Inst& in) {
    Spec spec;
    std::memcpy(&spec, &in.imm, sizeof spec);
    return spec;
}

const Format* format_of(Type type) {
    switch (type) {
    case Type::f64: return &num::F64;
    case Type::f32: return &num::F32;
    case Type::tf32: return &num::TF32;
    case Type::f16:
    case Type::f16x2: return &num::F16;
    case Type::bf16:
    case Type::bf16x2: return &num::BF16;
    case Type::e4m3:
    case Type::e4m3x2: return &num::E4M3;
    case Type::e5m2:
    case Type::e5m2x2: return &num::E5M2;
    case Type::e3m2x2: return &num::E3M2;
    case Type::e2m3x2: return &num::E2M3;
    case Type::e2m1x2: return &num::E2M1;
    default: return nullptr;
    }
}

bool is_pair(Type type) {
    switch (type) {
    case Type::f16x2:
    case Type::bf16x2:
    case Type::e4m3x2:
    case Type::e5m2x2:
    case Type::e3m2x2:
    case Type::e2m3x2:
    case Type::e2m1x2:
    case Type::ue8m0x2: return true;
    default: return false;
    }
}
unsigned half_bits(Type pair) { return bytes_of(pair) * 4; } // of the place of one of the two
unsigned integer_bits(Type type) { return bytes_of(type) * 8; }

uint64_t extend(uint64_t value, Type type, unsigned register_bits) {
    const unsigned bits = integer_bits(type);
    if (is_signed(type) && bits < 64) value = uint64_t(int64_t(value << (64 - bits)) >> (64 - bits));
    else if (bits < 64) value &= (1ull << bits) - 1;
    return register_bits < 64 ? value & ((1ull << register_bits) - 1) : value;
}

// An integer of any sign, clamped to the range of `type`.
uint64_t clamp_integer(bool negative, uint64_t magnitude, bool beyond, Type type) {
    const unsigned bits = integer_bits(type);
    if (!is_signed(type)) {
        const uint64_t most = bits == 64 ? ~0ull : (1ull << bits) - 1;
        return negative ? 0 : beyond || magnitude > most ? most : magnitude;
    }
    const uint64_t most = (1ull << (bits - 1)) - 1;
    if (negative) return 0 - (beyond || magnitude > most ? most + 1 : magnitude);
    return beyond || magnitude > most ? most : magnitude;
}

uint64_t float_to_integer(const Parts& parts, const Spec& spec) {
    if (parts.kind == Parts::Kind::nan) {
        const bool wide = spec.from == Type::f64 || integer_bits(spec.to) == 64;
        return wide ? 1ull << (integer_bits(spec.to) - 1) : 0;
    }
    if (parts.kind == Parts::Kind::infinite) return clamp_integer(parts.negative, ~0ull, true, spec.to);
    const num::Integer integer = num::to_integer(parts, spec.round);
    return clamp_integer(parts.negative, integer.magnitude, integer.beyond, spec.to);
}

uint64_t integer_to_integer(uint64_t bits, const Spec& spec) {
    const uint64_t value = extend(bits, spec.from, 64);
    if (!spec.saturate) return value;
    const bool negative = is_signed(spec.from) && int64_t(value) < 0;
    return clamp_integer(negative, negative ? 0 - value : value, false, spec.to);
}

uint64_t saturate_unit(uint64_t bits, const Format& format) {
    const Parts parts = num::decode(bits, format);
    const uint64_t one = uint64_t(format.bias()) << format.mantissa_bits;
    if (parts.kind == Parts::Kind::nan || parts.negative) return 0;
    return bits > one ? one : bits;
}

uint64_t float_to_float(uint64_t bits, const Spec& spec) {
    const Format& from = *format_of(spec.from);
    const Format& to = *format_of(spec.to);
    Parts parts = num::decode(bits, from);
    if (parts.kind == Parts::Kind::nan && spec.to == Type::f64) { // the payload survives widening
        const uint64_t mantissa = bits & ((1ull << from.mantissa_bits) - 1);
        return uint64_t((bits & from.sign_bit()) != 0) << 63 | 0x7ff8ull << 48 | mantissa << (52 - from.mantissa_bits);
    }
    if (parts.kind == Parts::Kind::nan && spec.from == Type::f64 && spec.to == Type::f32 && !spec.saturate)
        return bits >> 63 << 31 | 0x7fc00000 | (bits >> 29 & 0x3fffff); // and its upper part narrowing
    const bool small = parts.significand && !(parts.significand >> from.mantissa_bits);
    if (spec.flush && spec.from == Type::f32 && small) parts.significand = 0;
    num::EncodeHow how{spec.round, bool(spec.finite), bool(spec.relu), spec.flush && spec.to == Type::f32};
    uint64_t out = spec.to_integral ? num::round_to_integral(num::encode(parts, from), from, spec.round)
                                    : num::encode(parts, to, how);
    if (spec.saturate) out = saturate_unit(out, to);
    if (spec.to == Type::tf32) out = parts.kind == Parts::Kind::nan ? 0x7fffffff : out << 13;
    return out;
}

uint64_t convert_one(uint64_t bits, const Spec& spec) {
    const Format* from = format_of(spec.from);
    const Format* to = format_of(spec.to);
    if (from && to) return float_to_float(bits, spec);
    if (!from && !to) return extend(integer_to_integer(bits, spec), spec.to, spec.register_bits);
    if (from) {
        Parts parts = num::decode(bits & (from->sign_bit() * 2 - 1), *from);
        const bool small = parts.significand && !(parts.significand >> from->mantissa_bits);
        if (spec.flush && spec.from == Type::f32 && small) parts.significand = 0;
        return extend(float_to_integer(parts, spec), spec.to, spec.register_bits);
    }
    const uint64_t value = extend(bits, spec.from, 64);
    const Parts parts = is_signed(spec.from) ? num::parts_of_signed(int64_t(value)) : num::parts_of_unsigned(value);
    const uint64_t out = num::encode(parts, *to, {spec.round});
    return spec.saturate ? saturate_unit(out, *to) : out;
}

uint64_t read(const Warp& w, uint16_t slot, bool wide, int lane) {
    return wide ? w.reg<uint64_t>(slot)[lane] : w.reg<uint32_t>(slot)[lane];
}
void write(const Warp& w, uint16_t slot, unsigned bits, int lane, uint64_t value) {
    if (bits == 64) w.reg<uint64_t>(slot)[lane] = value;
    else w.reg<uint32_t>(slot)[lane] = uint32_t(value);
}

// d = a
Flow convert_any(Warp& w, const Inst& in) {
    const Spec spec = spec_of(in);
    const Format* from = format_of(spec.from);
    const uint64_t keep = from && from->bits() < 64 && spec.from != Type::tf32 ? from->sign_bit() * 2 - 1 : ~0ull;
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        write(w, in.r[0], spec.register_bits, l, convert_one(read(w, in.r[1], spec.wide_source, l) & keep, spec));
    }
    return Flow::next;
}

// ue8m0: the power of two at or below the magnitude, or, rounded up, at or above it. Beyond 2^127 stands NaN, or,
// clamped, 2^127; there is nothing below 2^-127.
uint64_t power_of_two(uint64_t bits, const Spec& spec) {
    const Parts parts = num::decode(bits, *format_of(spec.from));
    const uint64_t beyond = spec.finite ? 0xfe : 0xff;
    if (parts.kind == Parts::Kind::nan) return 0xff;
    if (parts.kind == Parts::Kind::infinite) return beyond;
    if (!parts.significand) return 0;
    const bool between = parts.significand & (parts.significand - 1);
    const int field = 63 - std::countl_zero(parts.significand) + parts.exponent + 127;
    const int rounded = field + (between && field >= 0 && spec.round == Round::up);
    return rounded > 0xfe ? beyond : rounded < 0 ? 0 : uint64_t(rounded);
}

// One half of a packed register, in and out.
uint64_t convert_half(uint64_t bits, const Spec& spec) {
    if (spec.from == Type::ue8m0x2) return bits == 0xff ? num::BF16.nan : bits ? bits << num::BF16.mantissa_bits : 0x40;
    if (spec.to == Type::ue8m0x2) return power_of_two(bits, spec);
    const Format& from = *format_of(spec.from);
    return float_to_float(from.bits() < 64 ? bits & (from.sign_bit() * 2 - 1) : bits, spec);
}

// d = {hi = a, lo = b}: two f32 into one packed register
Flow pack_any(Warp& w, const Inst& in) {
    const Spec spec = spec_of(in);
    const unsigned bits = half_bits(spec.to);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t high = convert_half(w.reg<uint32_t>(in.r[1])[l], spec);
        w.reg<uint32_t>(in.r[0])[l] = uint32_t(high << bits | convert_half(w.reg<uint32_t>(in.r[2])[l], spec));
    }
    return Flow::next;
}

// packed to packed: f16x2 <-> e4m3x2, ...
Flow repack_any(Warp& w, const Inst& in) {
    const Spec spec = spec_of(in);
    const unsigned from = half_bits(spec.from), to = half_bits(spec.to);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        const uint64_t a = w.reg<uint32_t>(in.r[1])[l], mask = (1ull << from) - 1;
        w.reg<uint32_t>(in.r[0])[l] =
            uint32_t(convert_half(a >> from & mask, spec) << to | convert_half(a & mask, spec));
    }
    return Flow::next;
}

// cvt.pack.sat.{u8,s8,u16,s16}.s32{.b32} d, a, b{, c}: b lowest, a above it, c's low bits on top
Flow pack_integers(Warp& w, const Inst& in) {
    const Spec spec = spec_of(in);
    const unsigned bits = integer_bits(spec.to);
    for (uint32_t m = w.mask; m; m &= m - 1) {
        const int l = __builtin_ctz(m);
        auto narrow = [&](uint16_t slot) {
            const int64_t v = int32_t(w.reg<uint32_t>(slot)[l]);
            return uint32_t(extend(clamp_integer(v < 0, uint64_t(v < 0 ? -v : v), false, spec.to), spec.to, bits));
        };
        const uint32_t pair = narrow(in.r[1]) << bits | narrow(in.r[2]);
        w.reg<uint32_t>(in.r[0])[l] = bits == 8 ? w.reg<uint32_t>(in.r[3])[l] << 16 | pair : pair;
    }
    return Flow::next;
}

// --- the everyday ones ---

template <class To, class From, class F> EMU_INLINE Flow map1(Warp& w, const Inst& in, F f) {
    To* d = w.reg<To>(in.r[0]);
    const From* a = w.reg<From>(in.r[1]);
    each_lane(w.mask, [=](int l) { d[l] = f(a[l]); });
    return Flow::next;
}

Flow f32_from_f16(Warp& w, const Inst& in) {
    return map1<float, uint32_t>(w, in, [](uint32_t a) { return num::f32_from_f16(a); });
}
Flow f32_from_bf16(Warp& w, const Inst& in) {
    return map1<float, uint32_t>(w, in, [](uint32_t a) { return num::f32_from_bf16(a); });
}
Flow f16_from_f32(Warp& w, const Inst& in) {
    return map1<uint32_t, float>(w, in, [](float a) { return num::f16_from_f32(a); });
}
Flow bf16_from_f32(Warp& w, const Inst& in) {
    return map1<uint32_t, float>(w, in, [](float a) { return num::bf16_from_f32(a); });
}
Flow f16x2_from_f32(Warp& w, const Inst& in) {
    uint32_t* d = w.reg<uint32_t>(in.r[0]);
    const float *high = w.reg<float>(in.r[1]), *low = w.reg<float>(in.r[2]);
    each_lane(w.mask, [=](int l) { d[l] = num::f16_from_f32(high[l]) << 16 | num::f16_from_f32(low[l]); });
    return Flow::next;
}
Flow bf16x2_from_f32(Warp& w, const Inst& in) {
    uint32_t* d = w.reg<uint32_t>(in.r[0]);
    const float *high = w.reg<float>(in.r[1]), *low = w.reg<float>(in.r[2]);
    each_lane(w.mask, [=](int l) { d[l] = num::bf16_from_f32(high[l]) << 16 | num::bf16_from_f32(low[l]); });
    return Flow::next;
}
// T: the integer, held in a register of 32 bits, or of 64.
template <class T> Flow f32_from(Warp& w, const Inst& in) {
    using Held = std::conditional_t<sizeof(T) == 8, T, uint32_t>;
    return map1<float, Held>(w, in, [](Held a) { return float(T(a)); });
}
// Rounded, and clamped to what the integer holds.
template <class T, Round ROUND> Flow integer_from_f32(Warp& w, const Inst& in) {
    return map1<T, float>(w, in, [](float a) {
        constexpr float LEAST = float(std::numeric_limits<T>::min()),
                        BEYOND = 2.0f * float(T(1) << (std::numeric_limits<T>::digits - 1));
        const float near = __builtin_rintf(a), down = near > a ? near - 1 : near, up = near < a ? near + 1 : near;
        const float r = ROUND == Round::nearest_even ? near
                        : ROUND == Round::down       ? down
                        : ROUND == Round::up         ? up
                        : a < 0                      ? up
                                                     : down;
        const T nan = sizeof(T) == 8 ? T(1ull << 63) : T(0);
        return a != a        ? nan
               : r < LEAST   ? std::numeric_limits<T>::min()
               : r >= BEYOND ? std::numeric_limits<T>::max()
                             : T(r);
    });
}
// Two FP8 become two f16, which holds all of them.
template <const Format& FORMAT> Flow halves_from_fp8(Warp& w, const Inst& in) {
    static const auto table = [] {
        std::array<uint16_t, 256> halves;
        for (unsigned i = 0; i < 256; ++i) halves[i] = uint16_t(num::encode(num::decode(i, FORMAT), num::F16, {}));
        return halves;
    }();
    return map1<uint32_t, uint32_t>(w, in,
                                    [](uint32_t a) { return uint32_t(table[a >> 8 & 0xff]) << 16 | table[a & 0xff]; });
}
Flow u64_from_u32(Warp& w, const Inst& in) {
    return map1<uint64_t, uint32_t>(w, in, [](uint32_t a) { return uint64_t(a); });
}
Flow s64_from_s32(Warp& w, const Inst& in) {
    return map1<int64_t, int32_t>(w, in, [](int32_t a) { return int64_t(a); });
}
Flow u32_from_u64(Warp& w, const Inst& in) {
    return map1<uint32_t, uint64_t>(w, in, [](uint64_t a) { return uint32_t(a); });
}
Flow u16_from_u32(Warp& w, const Inst& in) {
    return map1<uint32_t, uint32_t>(w, in, [](uint32_t a) { return a & 0xffff; });
}
Flow s32_from_s16(Warp& w, const Inst& in) {
    return map1<int32_t, uint32_t>(w, in, [](uint32_t a) { return int32_t(int16_t(a)); });
}
Flow s32_from_f32_rz(Warp& w, const Inst& in) {
    return map1<int32_t, float>(w, in, [](float a) {
        const float held = a < -2147483648.0f ? -2147483648.0f : a;
        const int32_t v = int32_t(held < 2147483648.0f ? held : 0.0f); // a NaN compares false: 0
        return a >= 2147483648.0f ? 0x7fffffff : v;
    });
}

struct Quick {
    Type to, from;
    Round round;
    bool integral;
    Handler handler;
};
// Without .ftz .sat .relu .satfinite.
const Quick QUICK[] = {
    {Type::f32, Type::f16, Round::nearest_even, false, f32_from_f16},
    {Type::f32, Type::bf16, Round::nearest_even, false, f32_from_bf16},
    {Type::f16, Type::f32, Round::nearest_even, false, f16_from_f32},
    {Type::bf16, Type::f32, Round::nearest_even, false, bf16_from_f32},
    {Type::f32, Type::s64, Round::nearest_even, false, f32_from<int64_t>},
    {Type::f32, Type::s32, Round::nearest_even, false, f32_from<int32_t>},
    {Type::f32, Type::u32, Round::nearest_even, false, f32_from<uint32_t>},
    {Type::f32, Type::s16, Round::nearest_even, false, f32_from<int16_t>},
    {Type::f32, Type::u16, Round::nearest_even, false, f32_from<uint16_t>},
    {Type::f32, Type::s8, Round::nearest_even, false, f32_from<int8_t>},
    {Type::f32, Type::u8, Round::nearest_even, false, f32_from<uint8_t>},
    {Type::u64, Type::u32, Round::nearest_even, false, u64_from_u32},
    {Type::s64, Type::u32, Round::nearest_even, false, u64_from_u32},
    {Type::s64, Type::s32, Round::nearest_even, false, s64_from_s32},
    {Type::u64, Type::s32, Round::nearest_even, false, s64_from_s32},
    {Type::u32, Type::u64, Round::nearest_even, false, u32_from_u64},
    {Type::u32, Type::s64, Round::nearest_even, false, u32_from_u64},
    {Type::s32, Type::s64, Round::nearest_even, false, u32_from_u64},
    {Type::s32, Type::u64, Round::nearest_even, false, u32_from_u64},
    {Type::u32, Type::u16, Round::nearest_even, false, u16_from_u32},
    {Type::s32, Type::u16, Round::nearest_even, false, u16_from_u32},
    {Type::u16, Type::u32, Round::nearest_even, false, u16_from_u32},
    {Type::u16, Type::s32, Round::nearest_even, false, u16_from_u32},
    {Type::s32, Type::s16, Round::nearest_even, false, s32_from_s16},
    {Type::s32, Type::f32, Round::zero, false, s32_from_f32_rz},
    {Type::s32, Type::f32, Round::nearest_even, false, integer_from_f32<int32_t, Round::nearest_even>},
    {Type::u64, Type::f32, Round::nearest_even, false, integer_from_f32<uint64_t, Round::nearest_even>},
    {Type::u64, Type::f32, Round::zero, false, integer_from_f32<uint64_t, Round::zero>},
    {Type::u64, Type::f32, Round::down, false, integer_from_f32<uint64_t, Round::down>},
    {Type::u64, Type::f32, Round::up, false, integer_from_f32<uint64_t, Round::up>},
};

bool read_modifiers(const Form& form, Spec& spec, bool& rounded) {
    for (auto mod : form.mods) {
        const bool integral = mod == "rni" || mod == "rzi" || mod == "rmi" || mod == "rpi";
        if (mod == "rn" || mod == "rni") spec.round = Round::nearest_even;
        else if (mod == "rz" || mod == "rzi") spec.round = Round::zero;
        else if (mod == "rm" || mod == "rmi") spec.round = Round::down;
        else if (mod == "rp" || mod == "rpi") spec.round = Round::up;
        else if (mod == "rna") spec.round = Round::nearest_away;
        else if (mod == "ftz") {
            spec.flush = 1;
            continue;
        } else if (mod == "sat") {
            spec.saturate = 1;
            continue;
        } else if (mod == "relu") {
            spec.relu = 1;
            continue;
        } else if (mod == "satfinite") {
            spec.finite = 1;
            continue;
        } else if (mod == "pack" || type_named(mod) != Type::none) continue;
        else return false;
        rounded = true;
        spec.to_integral = integral && is_float(spec.to) && is_float(spec.from);
    }
    return true;
}

bool known(Type type) {
    return is_pair(type) || format_of(type) || (!is_float(type) && type != Type::pred && bytes_of(type) <= 8);
}

// Does one integer type hold all values of another? Then there is nothing to clamp.
bool holds(Type to, Type from) {
    const unsigned wide = bytes_of(to), narrow = bytes_of(from);
    return is_signed(to) ? wide >= narrow + !is_signed(from) : !is_signed(from) && wide >= narrow;
}

} // namespace

Handler pick_cvt(const Form& form, Inst& in) {
    Spec spec{};
    spec.to = form.type(0);
    spec.from = form.type(1);
    spec.round = Round::nearest_even;
    if (form.types.size() < 2 || !known(spec.to) || !known(spec.from) || form.operands.empty()) return nullptr;
    bool rounded = false;
    if (!read_modifiers(form, spec, rounded)) return nullptr;
    const bool integers = !is_float(spec.to) && !is_float(spec.from);
    if (spec.saturate && integers && !form.has("pack") && holds(spec.to, spec.from)) return nullptr;
    const unsigned held = unsigned(bytes_of(form.operands[0].type)) * 8;
    spec.register_bits = uint8_t(held ? held : bytes_of(spec.to) * 8);
    const Type source = form.operands[1].type; // a constant has none, and the width of its type
    spec.wide_source = bytes_of(source == Type::none ? spec.from : source) == 8;
    std::memcpy(&in.imm, &spec, sizeof spec);
    if (form.has("pack")) return pack_integers;
    const bool plain = !spec.flush && !spec.saturate && !spec.relu && !spec.finite;
    if (is_pair(spec.to)) {
        if (plain && spec.to == Type::f16x2 && spec.from == Type::e4m3x2) return halves_from_fp8<num::E4M3>;
        if (plain && spec.to == Type::f16x2 && spec.from == Type::e5m2x2) return halves_from_fp8<num::E5M2>;
        if (is_pair(spec.from)) return repack_any;
        if (spec.from != Type::f32) return nullptr;
        if (plain && spec.round == Round::nearest_even && spec.to == Type::f16x2) return f16x2_from_f32;
        if (plain && spec.round == Round::nearest_even && spec.to == Type::bf16x2) return bf16x2_from_f32;
        return pack_any;
    }
    if (is_pair(spec.from)) return nullptr;
    // Fast ones write a register of exactly the destination's width, and read one of the source's.
    const unsigned natural = bytes_of(spec.to) * 8;
    const bool narrowed = spec.wide_source != (bytes_of(spec.from) == 8);
    if (plain && !narrowed &&
        (spec.register_bits == natural || (natural == 16 && !is_signed(spec.to) && spec.register_bits == 32)))
        for (const Quick& q : QUICK)
            if (q.to == spec.to && q.from == spec.from && q.round == spec.round && !spec.to_integral) return q.handler;
    return convert_any;
}

} // namespace emu::EMU_LEVEL

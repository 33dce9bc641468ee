// SPDX-License-Identifier: Apache-2.0
// Number formats, the obvious way: with nearbyint on doubles that powers of two scale.
// Every value of these formats, and every midpoint between two of them, is exact in double precision.
#include "ref/formats.h"

#include <algorithm>
#include <cfenv>

namespace ref {

const char* name_of(Type type) {
    switch (type) {
    case Type::f32: return "f32";
    case Type::f16: return "f16";
    case Type::bf16: return "bf16";
    case Type::e4m3: return "e4m3";
    case Type::e5m2: return "e5m2";
    case Type::i32: return "i32";
    case Type::i64: return "i64";
    case Type::i8: return "i8";
    case Type::u8: return "u8";
    }
    return "?";
}

static bool is_integer(Type type) {
    return type == Type::i32 || type == Type::i64 || type == Type::i8 || type == Type::u8;
}

// Exponent of the unit in the last place of x: fixed below the smallest normal number.
static int ulp_exponent(Format format, double x) {
    const int field =
        static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff); // of a double: 0 is below every format
    const int exponent = field < 0x7ff ? field - 1023 : std::ilogb(x);
    return std::max(exponent, format.min_exponent()) - format.fraction_bits;
}

double ulp(Type type, double x) { return power(ulp_exponent(format_of(type), x)); }

double rounded(Type type, double x) {
    if (is_integer(type)) {
        return std::trunc(x);
    }
    const Format format = format_of(type);
    constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
    if (x == 0 || !std::isfinite(x)) {
        return std::isinf(x) && !format.has_infinity ? NaN : x;
    }
    const int unit = ulp_exponent(format, x);
    const double r = std::nearbyint(x * power(-unit)) * power(unit); // default mode: ties to even
    if (std::fabs(r) >= power(format.max_exponent() + 1)) {
        return std::copysign(std::numeric_limits<double>::infinity(), x);
    }
    if (format.has_infinity) {
        return r;
    }
    // The largest fraction of the largest exponent is taken by NaN.
    const double nan_place = (2 - power(-format.fraction_bits)) * power(format.max_exponent());
    return std::fabs(r) >= nan_place ? NaN : r;
}

uint64_t encode(Type type, double x) {
    if (is_integer(type)) {
        const uint64_t bits = static_cast<uint64_t>(static_cast<int64_t>(x));
        return type == Type::i64 ? bits : bits & ((uint64_t{1} << 8 * size_of(type)) - 1);
    }
    const Format format = format_of(type);
    const uint64_t fraction_mask = (uint64_t{1} << format.fraction_bits) - 1;
    const uint64_t top_exponent = ((uint64_t{1} << format.exponent_bits) - 1) << format.fraction_bits;
    const double r = rounded(type, x);
    if (std::isnan(r)) {
        return top_exponent | fraction_mask;
    }
    const uint64_t sign = uint64_t{std::signbit(r)} << (format.exponent_bits + format.fraction_bits);
    if (std::isinf(r)) {
        return sign | top_exponent;
    }
    // |r| in units of its last place: below 2^fraction_bits only if subnormal. The leading bit of a normal number
    // carries into the exponent field, which is why 1 is subtracted from the biased exponent.
    const int unit = ulp_exponent(format, r);
    const uint64_t units = static_cast<uint64_t>(std::fabs(r) * power(-unit));
    const uint64_t steps = static_cast<uint64_t>(unit + format.fraction_bits - format.min_exponent());
    return sign | (units + (steps << format.fraction_bits));
}

void store_bits(Type type, uint64_t bits, void* element) { std::memcpy(element, &bits, size_of(type)); }

void store(Type type, double x, void* element) { store_bits(type, encode(type, x), element); }

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Number formats of the operators, decoded to and rounded from double precision.
// Used by the oracles and by spark-check. Written from the formats' definition (sign, exponent, fraction) alone:
// shares nothing with the emulator's arithmetic or the library's, so that one error cannot hide in two places.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace ref {

enum class Type { f32, f16, bf16, e4m3, e5m2, i32, i64, i8, u8 };

// The shape of a binary format: 1 sign bit, then exponent bits, then fraction bits.
//   f32   s eeeeeeee fffffffffffffffffffffff      f16   s eeeee ffffffffff      bf16  s eeeeeeee fffffff
//   e4m3  s eeee fff: no infinity; of the largest exponent only all ones is no number      e5m2  s eeeee ff
struct Format {
    int exponent_bits;
    int fraction_bits;
    bool has_infinity = true;
    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    int min_exponent() const { return 1 - bias(); } // of the smallest normal number; subnormals share it
    int max_exponent() const { return has_infinity ? bias() : bias() + 1; }
};

// What is asked of each element stands here, for its callers' loops.
constexpr size_t size_of(Type type) {
    switch (type) {
    case Type::f16:
    case Type::bf16: return 2;
    case Type::f32:
    case Type::i32: return 4;
    case Type::i64: return 8;
    case Type::e4m3:
    case Type::e5m2:
    case Type::i8:
    case Type::u8: return 1;
    }
    return 0;
}
constexpr Format format_of(Type type) { // floating types only
    switch (type) {
    case Type::f16: return {5, 10};
    case Type::bf16: return {8, 7};
    case Type::e4m3: return {4, 3, false};
    case Type::e5m2: return {5, 2};
    default: return {8, 23};
    }
}
const char* name_of(Type type);

// 2^exponent. Scaling by it rounds as ldexp does, and takes a tenth of the time.
inline double power(int exponent) {
    constexpr int BIAS = 1023, FRACTION_BITS = 52;
    const bool is_normal = exponent > -BIAS && exponent <= BIAS;
    return is_normal ? std::bit_cast<double>(static_cast<uint64_t>(exponent + BIAS) << FRACTION_BITS)
                     : std::ldexp(1.0, exponent);
}

// x rounded once, to nearest, ties to even; beyond the largest finite value: infinity, or NaN where the format has no
// infinity. Integers: truncated.
double rounded(Type type, double x);

// Bits of `x` after that rounding. A NaN becomes the positive one with all fraction bits set.
uint64_t encode(Type type, double x);
inline double decode(Type type, uint64_t bits) {
    if (type == Type::i32) {
        return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(bits)));
    }
    if (type == Type::i64) {
        return static_cast<double>(static_cast<int64_t>(bits));
    }
    if (type == Type::i8) {
        return static_cast<double>(static_cast<int8_t>(bits & 0xff));
    }
    if (type == Type::u8) {
        return static_cast<double>(bits & 0xff);
    }
    const Format format = format_of(type);
    const uint64_t fraction = bits & ((uint64_t{1} << format.fraction_bits) - 1);
    const int field = static_cast<int>(bits >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
    const bool negative = (bits >> (format.exponent_bits + format.fraction_bits)) & 1;
    const bool top = field == (1 << format.exponent_bits) - 1;
    const bool ones = fraction == (uint64_t{1} << format.fraction_bits) - 1;
    double x;
    if (format.has_infinity ? top : top && ones) {
        x = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else if (field == 0) {
        x = static_cast<double>(fraction) * power(format.min_exponent() - format.fraction_bits);
    } else {
        const double significand = static_cast<double>(fraction | (uint64_t{1} << format.fraction_bits));
        x = significand * power(field - format.bias() - format.fraction_bits);
    }
    return negative ? -x : x;
}

inline uint64_t load_bits(Type type, const void* element) { // little-endian, as the device is
    uint64_t bits = 0;
    switch (size_of(type)) {
    case 1: std::memcpy(&bits, element, 1); break;
    case 2: std::memcpy(&bits, element, 2); break;
    case 4: std::memcpy(&bits, element, 4); break;
    default: std::memcpy(&bits, element, 8); break;
    }
    return bits;
}
void store_bits(Type type, uint64_t bits, void* element);
inline double load(Type type, const void* element) { return decode(type, load_bits(type, element)); }
void store(Type type, double x, void* element); // encode, then store

// Distance from |x| to the next larger value of the format (one unit in the last place).
double ulp(Type type, double x);

} // namespace ref

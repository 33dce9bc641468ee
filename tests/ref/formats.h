// SPDX-License-Identifier: Apache-2.0
// Number formats of the operators, decoded to and rounded from double precision.
// Used by the oracles and by spark-check. Written from the formats' definition (sign, exponent, fraction) alone:
// shares nothing with the emulator's arithmetic or the library's, so that one error cannot hide in two places.
#pragma once

#include <cstddef>
#include <cstdint>

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

size_t size_of(Type type);
const char* name_of(Type type);
Format format_of(Type type); // floating types only

// x rounded once, to nearest, ties to even; beyond the largest finite value: infinity, or NaN where the format has no
// infinity. Integers: truncated.
double rounded(Type type, double x);

// Bits of `x` after that rounding. A NaN becomes the positive one with all fraction bits set.
uint64_t encode(Type type, double x);
double decode(Type type, uint64_t bits);

uint64_t load_bits(Type type, const void* element);
void store_bits(Type type, uint64_t bits, void* element);
double load(Type type, const void* element);
void store(Type type, double x, void* element); // encode, then store

// Distance from |x| to the next larger value of the format (one unit in the last place).
double ulp(Type type, double x);

} // namespace ref

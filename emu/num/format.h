// SPDX-License-Identifier: Apache-2.0
// Number formats as bit patterns, and exact conversion between them with every rounding PTX names.
// Called by the executors of cvt, of 16-bit arithmetic and of mma. Knows nothing of warps, registers or PTX text.
// Nothing here depends on, or changes, the rounding mode of the host.
#pragma once

#include <bit>
#include <cstdint>

// Always inlined: this header is compiled for several instruction sets, and the linker must never merge their copies.
#define EMU_NUM_INLINE inline __attribute__((always_inline))

namespace emu::num {

enum class Round : uint8_t {
    nearest_even, // .rn .rni
    nearest_away, // .rna
    zero,         // .rz .rzi
    down,         // .rm .rmi
    up,           // .rp .rpi
};

// s eeeee mmmm: a sign, `exponent_bits`, `mantissa_bits`. What the largest exponent means: `ieee` formats have
// infinities and many NaNs; `nan` ones (e4m3) none of the former and one pattern of the latter, all ones; `finite` ones
// neither.
enum class Specials : uint8_t { ieee, nan, finite };
struct Format {
    int exponent_bits;
    int mantissa_bits;
    Specials specials;
    uint64_t nan; // what a conversion makes of a NaN

    EMU_NUM_INLINE constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    EMU_NUM_INLINE constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
    EMU_NUM_INLINE constexpr uint64_t sign_bit() const { return 1ull << (exponent_bits + mantissa_bits); }
    EMU_NUM_INLINE constexpr uint64_t infinity() const { return ((1ull << exponent_bits) - 1) << mantissa_bits; }
    EMU_NUM_INLINE constexpr uint64_t largest() const {
        return specials == Specials::ieee ? infinity() - 1 : sign_bit() - (specials == Specials::nan ? 2 : 1);
    }
};

inline constexpr Format F64{11, 52, Specials::ieee, 0x7ff8000000000000ull};
inline constexpr Format F32{8, 23, Specials::ieee, 0x7fffffff};
inline constexpr Format TF32{8, 10, Specials::ieee, 0x3ffff}; // held in the top 19 bits of a register
inline constexpr Format BF16{8, 7, Specials::ieee, 0x7fff};
inline constexpr Format F16{5, 10, Specials::ieee, 0x7fff};
inline constexpr Format E5M2{5, 2, Specials::ieee, 0x7f};
inline constexpr Format E4M3{4, 3, Specials::nan, 0x7f};
inline constexpr Format E3M2{3, 2, Specials::finite, 0x1f};
inline constexpr Format E2M3{2, 3, Specials::finite, 0x1f};
inline constexpr Format E2M1{2, 1, Specials::finite, 0x7};

// A value taken apart: significand * 2^exponent, the significand an integer. Not normalised.
struct Parts {
    enum class Kind : uint8_t { finite, infinite, nan } kind = Kind::finite;
    bool negative = false;
    uint64_t significand = 0;
    int exponent = 0;
};

Parts decode(uint64_t bits, const Format& format);

struct EncodeHow {
    Round round = Round::nearest_even;
    bool finite = false; // .satfinite: what would be infinite becomes the largest finite number
    bool relu = false;   // .relu: negative values become +0
    bool flush = false;  // .ftz: a subnormal result becomes a zero of its sign
};
uint64_t encode(const Parts& parts, const Format& format, EncodeHow how = {});

// significand * 2^exponent rounded to an integer, without a limit of range: the magnitude (saturated to 2^64-1 and
// marked).
struct Integer {
    uint64_t magnitude = 0;
    bool beyond = false; // the magnitude does not fit 64 bits
};
Integer to_integer(const Parts& parts, Round round);

// Whole formats at once.
uint64_t convert(uint64_t bits, const Format& from, const Format& to, EncodeHow how = {});
// Rounds to an integer and stays in the format (cvt.rni.f32.f32 and its sisters). Keeps the sign of zero.
uint64_t round_to_integral(uint64_t bits, const Format& format, Round round);
Parts parts_of_unsigned(uint64_t value);
Parts parts_of_signed(int64_t value);

// The everyday conversions, free of branches so that a loop over 32 lanes becomes vector code.
EMU_NUM_INLINE float f32_from_bf16(uint32_t h) { return std::bit_cast<float>(h << 16); }

EMU_NUM_INLINE uint32_t bf16_from_f32(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    return (u & 0x7fffffff) > 0x7f800000 ? 0x7fffu : rounded;
}

EMU_NUM_INLINE float f32_from_f16(uint32_t h) {
    // Shift exponent and mantissa into place, then correct the bias by an exact multiplication (subnormals included).
    const uint32_t magnitude = (h & 0x7fff) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    const uint32_t special = magnitude > 0x0f800000u ? 0x7fffffffu : 0x7f800000u;
    const uint32_t bits = magnitude >= 0x0f800000u ? special : std::bit_cast<uint32_t>(scaled);
    const uint32_t sign = magnitude > 0x0f800000u ? 0u : (h & 0x8000) << 16;
    return std::bit_cast<float>(bits | sign);
}

EMU_NUM_INLINE uint32_t f16_from_f32(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    const uint32_t sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
    // Subnormal results: adding 0.5 places the last kept bit at 2^-24, and the host rounds to nearest even there.
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0x0fff + ((magnitude >> 13) & 1)) >> 13;
    uint32_t h = magnitude < 0x38800000u ? small : normal;
    h = magnitude >= 0x477ff000u ? 0x7c00u : h;
    return magnitude > 0x7f800000u ? 0x7fffu : (h | sign);
}

} // namespace emu::num

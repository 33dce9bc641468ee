// SPDX-License-Identifier: Apache-2.0
// One warp-wide mma.sync, bit for bit, as the tensor cores of a chip compute it.
// Called by the executor of mma with whole register planes. Knows nothing of divergence or definedness.
#pragma once

#include <cstdint>

#include "format.h"

namespace emu::num {

enum class MmaInput : uint8_t { bf16, f16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, f64, s8, u8, s4, u4, b1 };
enum class MmaOutput : uint8_t { f32, f16, s32, f64 };
enum class MmaScale : uint8_t { none, ue8m0, ue4m3 };

// What an mma multiplies. Lane = 4g + t. A 32-bit register holds w elements of a matrix (tf32 1, bytes 4, ...), element
// e at its low end first; register j of A holds row g + 8 (j mod rows/8), k = w t + e + 4 w (j div rows/8); register j
// of B holds k = w t + e + 4 w j of column g; register i of C and D row g + 8 (i div 2), column 2t + i mod 2, or, of
// f16, row g + 8 i, columns 2t and 2t + 1.
struct MmaKind {
    uint8_t rows = 16; // 8 or 16; there are 8 columns
    uint16_t k = 0;
    MmaInput a = MmaInput::bf16, b = MmaInput::bf16;
    MmaOutput output = MmaOutput::f32;
    MmaScale scale = MmaScale::none;
    uint8_t blocks = 0;                // scales of a row of A or a column of B: 1, 2 or 4, each for k / blocks elements
    bool packed = false;               // e2m1 in nibbles; else in bits 5..2 of a byte
    bool saturate = false;             // s32: clamped instead of wrapped
    bool both = false;                 // b1: and, not xor
    Round round = Round::nearest_even; // f64
};
unsigned bits_of(const MmaKind& kind, MmaInput input); // that an element takes in a register
unsigned registers_of_a(const MmaKind& kind);          // 32-bit ones; f64: 64-bit ones
unsigned registers_of_b(const MmaKind& kind);
unsigned registers_of_c(const MmaKind& kind);

// How a chip sums products of floats; a row of mma_models.cpp:
//   every term is sign * significand * 2^e with e = ea + eb (or ec), taken from the exponent fields: a subnormal keeps
//   the least exponent of its format, a zero product or a zero C does not count (witnessed on sm_90); scales that are
//   powers of two add to e;
//   e_max is the largest of them; every term is cut (toward zero) to a multiple of 2^(e_max - fraction); the sum is
//   exact; the sum is cut to f32 (subnormals kept), or rounded to nearest even to f16.
// group > 1: so many products are summed exactly first and multiplied by their scales: one term, whose e is that of the
// scales alone.
// A sum of zero is +0, a NaN is 0x7fffffff (f16: 0x7fff).
// halves: made of two for f16, as ptxas makes it where the tensor cores take no FP8: the lower halves of the registers,
// widened, then the upper ones with that sum, and C added to it last, rounded to nearest.
struct MmaModel {
    uint8_t fraction;
    uint8_t group;
    bool halves = false;
    uint8_t other_fraction = 0; // of another published model; 0: there is none
};
// nullptr: nobody knows how this chip (9: compute capability 9.0, 12: 12.x) sums such products.
const MmaModel* mma_model(const MmaKind& kind, unsigned chip);

bool is_tile(const MmaModel& model); // the one that mma_m16n8 computes

// A register is 32 words, one a lane (f64: 32 pairs). A register of d may be one of the others.
using Planes = const uint32_t* const*;
using PlanesOut = uint32_t* const*;
// f16 and bf16 with k = 8 or 16: whole tiles at once.
using TileFunction = void (*)(Planes a, Planes b, Planes c, PlanesOut d);
TileFunction best_tile(int k, MmaInput input, MmaOutput output); // of this host
void mma_m16n8(Planes a, Planes b, Planes c, PlanesOut d, int k, MmaInput input, MmaOutput output);

// Scales as the lanes hold them: a register each for A and B, and the byte and thread selectors of the instruction.
struct MmaScales {
    const uint32_t *a, *b;
    uint32_t a_byte, a_thread, b_byte, b_thread;
};
// Any kind. `model` is not asked of integers and f64; `scales` only of kinds that have them.
void mma_any(const MmaKind& kind, const MmaModel* model, Planes a, Planes b, Planes c, PlanesOut d,
             const MmaScales* scales);

// One output of f16 or bf16 in any legal case, without speed: what the fast path falls back on.
uint32_t mma_dot(const uint32_t* a, const uint32_t* b, int k, uint32_t c, MmaInput input, MmaOutput output);

} // namespace emu::num

// SPDX-License-Identifier: Apache-2.0
// One warp-wide mma.sync as tensor cores of compute capability 9.0 and 12.x compute it, bit for bit.
// Called by the executor of mma with whole register planes. Knows nothing of divergence or definedness.
#pragma once

#include <cstdint>

namespace emu::num {

enum class MmaInput : uint8_t { bf16, f16 };
enum class MmaOutput : uint8_t { f32, f16 };

// The sum of one output, all K products and C at once:
//   every term is sign * significand * 2^e with e = ea + eb (or ec), taken from the exponent fields: a subnormal keeps
//   the least exponent of its format, a zero product or a zero C does not count (witnessed on sm_90);
//   e_max is the largest of them; every term is cut (toward zero) to a multiple of 2^(e_max - 25); the sum is exact;
//   the sum is cut to f32 (subnormals kept), or rounded to nearest even to f16.
// A sum of zero is +0, a NaN is 0x7fffffff (f16: 0x7fff).
//
// A register is 32 words, one a lane; lane = 4g + t. k = 16: A has 4, B 2 registers; k = 8: A has 2, B 1.
// C and D have 4 registers for f32, 2 for f16. A register of d may be one of the others.
using Planes = const uint32_t* const*;
using PlanesOut = uint32_t* const*;
void mma_m16n8(Planes a, Planes b, Planes c, PlanesOut d, int k, MmaInput input, MmaOutput output);

// The same for one output in any legal case, without speed: what the fast path falls back on.
uint32_t mma_dot(const uint32_t* a, const uint32_t* b, int k, uint32_t c, MmaInput input, MmaOutput output);

} // namespace emu::num

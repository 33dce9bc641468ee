// SPDX-License-Identifier: Apache-2.0
// What mma.cpp (the model, exact, one output at a time) and mma_tile.cpp (the same in vectors) need of each other, and
// the choice among levels. mma_tile.cpp, mma_sum.cpp and mufu_unit.cpp are compiled once for each instruction-set
// level of the host, in namespaces of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "mma.h"
#include "mufu.h"

namespace emu::num {

// 2^n; beyond what a normal double holds, the least or the largest that it does: such terms are zeros or cut to zero.
inline __attribute__((always_inline)) double power_of_two(int n) {
    const int held = n < -1022 ? -1022 : n > 1023 ? 1023 : n;
    return __builtin_bit_cast(double, uint64_t(held + 1023) << 52);
}

constexpr int TILE_FRACTION = 25; // of the model that mma_tile.cpp computes

// A product of matrices of any floats, taken apart for mma_any: values, exponents, and the sums that come of them.
constexpr int16_t NO_EXPONENT = -0x2000; // of a zero: no sum with one is ever the largest
struct MmaSum {
    int rows, k, fraction;
    alignas(64) double a[16][64], b[64][8]; // elements
    alignas(64) int16_t a_exp[16][64], b_exp[64][8];
    double a_scale[16][4], b_scale[4][8];          // significands of scales, where products come in groups
    int16_t a_scale_exp[16][4], b_scale_exp[4][8]; // of row and column (group 1: the first), and k block
    int groups;                                    // of products that are one term; 0: each product is one
    alignas(64) double c[16][8];
    int16_t c_exp[16][8];
    alignas(64) double sum[16][8]; // in units of 2^(top - fraction): an integer
    alignas(64) int32_t top[16][8];
};
using SumFunction = void (*)(MmaSum& m);

struct TileFunctions {
    TileFunction bf16_k16, f16_k16, f16_f16_k16, bf16_k8, f16_k8, f16_f16_k8;
    SumFunction sum;
};
namespace plain {
extern const TileFunctions tile_functions;
}
namespace avx2 {
extern const TileFunctions tile_functions;
}
namespace avx512 {
extern const TileFunctions tile_functions;
}

struct TileLevel {
    const char* name;
    const TileFunctions* functions;
    const MufuUnit* mufu;
};
std::vector<TileLevel> tile_levels(); // what this host can run, the best first
TileFunction tile_function(const TileFunctions& of, int k, MmaInput input, MmaOutput output);

// One output of mma_m16n8, without speed.
uint32_t mma_exact(Planes a, Planes b, Planes c, int k, MmaInput input, MmaOutput output, int row, int column);

} // namespace emu::num

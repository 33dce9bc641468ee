// SPDX-License-Identifier: Apache-2.0
// What mma.cpp (the model, exact, one output at a time) and mma_tile.cpp (the same in vectors) need of each other.
// mma_tile.cpp is compiled once for each instruction-set level of the host, in a namespace of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "mma.h"

namespace emu::num {

using TileFunction = void (*)(Planes a, Planes b, Planes c, PlanesOut d);

struct TileFunctions {
    TileFunction bf16_k16, f16_k16, f16_f16_k16, bf16_k8, f16_k8, f16_f16_k8;
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
};
std::vector<TileLevel> tile_levels(); // what this host can run, the best first
TileFunction tile_function(const TileFunctions& of, int k, MmaInput input, MmaOutput output);

// One output of mma_m16n8, without speed.
uint32_t mma_exact(Planes a, Planes b, Planes c, int k, MmaInput input, MmaOutput output, int row, int column);

} // namespace emu::num

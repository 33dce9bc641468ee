// SPDX-License-Identifier: Apache-2.0
// emu/num/mufu_unit.cpp, of each level that this host can run, against what an H200 gave: the sums of its results over
// 65,536 arguments out of each 2^26, or, with --all, over all 2^32 arguments of each function.
#include <cstdio>
#include <cstring>

#include "num/mma_tile.h"

namespace {

using emu::num::MufuFunction;

struct Sums {
    uint32_t all, some; // of the 2^26 arguments of a group; of one run in it
};
#define SUMS(name, ...) constexpr Sums name##_sums[64] = {__VA_ARGS__};
#include "mufu_sums.inc"

uint32_t mixed(uint32_t x, uint32_t y) {
    uint32_t h = y * 0x9e3779b1u + (x & 0xffff) * 0x85ebca6bu;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ h >> 13;
}

uint32_t sum(MufuFunction function, uint32_t first, uint32_t count) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i += 32) {
        alignas(64) uint32_t x[32], y[32];
        for (uint32_t l = 0; l < 32; l++) x[l] = first + i + l;
        function(x, y);
        for (uint32_t l = 0; l < 32; l++) total += mixed(x[l], y[l]);
    }
    return total;
}

int failures(MufuFunction function, const char* level, const char* name, const Sums (&sums)[64], bool all) {
    int wrong = 0;
    for (uint32_t g = 0; g < 64; g++) {
        const uint32_t first = all ? g << 26 : (g * 1024 + g * 389 % 1024) << 16;
        const uint32_t got = all ? sum(function, first, 1u << 26) : sum(function, first, 1u << 16);
        if (got == (all ? sums[g].all : sums[g].some)) continue;
        if (++wrong < 5) std::printf("%s, %s: not all results from %#x on are the card's\n", level, name, first);
    }
    return wrong;
}
} // namespace

int main(int argc, char** argv) {
    const bool all = argc > 1 && !std::strcmp(argv[1], "--all");
    int wrong = 0;
    for (const emu::num::TileLevel& level : emu::num::tile_levels()) {
        const emu::num::MufuUnit& unit = *level.mufu;
        wrong += failures(unit.ex2, level.name, "ex2", ex2_sums, all);
        wrong += failures(unit.lg2, level.name, "lg2", lg2_sums, all);
        wrong += failures(unit.rcp, level.name, "rcp", rcp_sums, all);
        wrong += failures(unit.rsqrt, level.name, "rsqrt", rsqrt_sums, all);
        wrong += failures(unit.sqrt, level.name, "sqrt", sqrt_sums, all);
        wrong += failures(unit.sin, level.name, "sin", sin_sums, all);
        wrong += failures(unit.cos, level.name, "cos", cos_sums, all);
        wrong += failures(unit.tanh, level.name, "tanh", tanh_sums, all);
    }
    return wrong != 0;
}

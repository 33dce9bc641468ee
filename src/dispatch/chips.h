// SPDX-License-Identifier: Apache-2.0
// chips.inc as tables, for cost.cpp and for row.h, which finds a contract's fit while compiling.
#pragma once

#include <cstdint>
#include <string_view>

namespace spark {

struct Chip {
    const char* name;
    uint32_t capability, sms, mhz, flops, memory_gbps, l2_gbps, l2_mib, launch_ns;
};

// How a contract's kernels do on a chip beside what is counted. Factors in 1/64, clocks in ticks of 1/16.
struct Fit {
    uint32_t capability;
    std::string_view contract;
    uint32_t products, shared, fetched, issued, written, memory;
    uint32_t block, step, latency;
    uint32_t exposed;
};

namespace detail {

constexpr Fit fit_of_line(uint32_t capability, std::string_view contract, uint32_t products, uint32_t shared,
                          uint32_t fetched, uint32_t issued, uint32_t written, uint32_t memory, uint32_t block,
                          uint32_t step, uint32_t latency, uint32_t exposed) {
    const auto part = [](uint32_t percent) { return percent * 64 / 100; };
    return {capability,    contract,     part(products), part(shared), part(fetched), part(issued),
            part(written), part(memory), block * 16,     step * 16,    latency * 16,  part(exposed)};
}

} // namespace detail

inline constexpr Chip CHIPS[] = {
#define CHIP(name, ...) {name, __VA_ARGS__},
#define FIT(...)
#include "dispatch/chips.inc"
#undef FIT
#undef CHIP
};

inline constexpr Fit FITS[] = {
#define CHIP(...)
#define FIT(...) detail::fit_of_line(__VA_ARGS__),
#include "dispatch/chips.inc"
#undef FIT
#undef CHIP
};

// 12.x has the same contracts as 9.0, in the same order, behind them.
constexpr uint32_t FITS_OF_ONE = sizeof FITS / sizeof FITS[0] / 2;
static_assert([] {
    for (uint32_t i = 0; i < FITS_OF_ONE; ++i) {
        const Fit &a = FITS[i], &b = FITS[i + FITS_OF_ONE];
        if (a.capability != 90 || b.capability != 120 || a.contract != b.contract) return false;
    }
    return FITS[FITS_OF_ONE - 1].contract.empty();
}());

// The place of a contract's fit among those of one capability: the first that its name begins with.
constexpr uint8_t fit_index(std::string_view contract) {
    uint8_t i = 0;
    while (!contract.starts_with(FITS[i].contract)) ++i;
    return i;
}

} // namespace spark

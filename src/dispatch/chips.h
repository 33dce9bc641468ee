// SPDX-License-Identifier: Apache-2.0
// chips.inc as tables, for cost.cpp and for row.h, which finds a kernel's fit while compiling.
#pragma once

#include "core/place_of.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace spark {

struct Chip {
    const char* name;
    uint32_t capability, sms, mhz, flops, f16_flops, memory_gbps, l2_gbps, l2_mib, launch_ns;
};

// How a kernel does on a chip beside what is counted. Factors and parts in 1/64, clocks in ticks of 1/16.
struct Fit {
    uint16_t products, shared, fetched, issued, written, memory;
    uint32_t block;
    uint16_t step, latency, round;
    uint16_t exposed; // of the shorter of memory and SMs,
    uint32_t flight;  // unless an SM's blocks have more bytes than this under way, then less; 0: always
    uint16_t serial;  // of the shorter of products and other instructions
    uint16_t beside;  // of the shorter of the work of blocks on an SM and the waits of one
    uint16_t apart;   // of a block's start: what the blocks on an SM would hide, were there ever so many
    uint16_t merged;  // factor on bytes of later launches
};

namespace detail {

constexpr uint16_t WHOLE = 64; // 100 %

// Called only while compiling, when a line is wrong: the compiler's message shows the name.
inline void fit_is_wrong(const char* /*why*/) {}

struct FitLine {
    std::string_view chip, pattern; // any chip where it is empty
    Fit fit;
    std::string_view as = {}; // the pattern of the line whose fit counts in its place
};

constexpr FitLine fit_line(std::string_view chip, std::string_view pattern, uint32_t products, uint32_t shared,
                           uint32_t fetched, uint32_t issued, uint32_t written, uint32_t memory, uint32_t block,
                           uint32_t step, uint32_t latency, uint32_t round, uint32_t exposed, uint32_t flight,
                           uint32_t serial, uint32_t beside, uint32_t apart, uint32_t merged) {
    const auto part = [](uint32_t percent) { return static_cast<uint16_t>(percent * WHOLE / 100); };
    const auto ticks = [](uint32_t clocks) {
        if (clocks > UINT16_MAX / 16) fit_is_wrong("a step, a latency or a round takes more clocks than 4095");
        return static_cast<uint16_t>(clocks * 16);
    };
    return {chip,
            pattern,
            {part(products), part(shared), part(fetched), part(issued), part(written), part(memory), block * 16,
             ticks(step), ticks(latency), ticks(round), part(exposed), flight << 10, part(serial), part(beside),
             part(apart), part(merged)}};
}

inline constexpr FitLine LINES[] = {
#define CHIP(...)
#define FIT_ON(chip, ...) fit_line(chip, __VA_ARGS__),
#define FIT_AS(pattern, as) FitLine{"", pattern, {}, as},
#define FIT(...) fit_line("", __VA_ARGS__),
#include "dispatch/chips.inc"
#undef FIT
#undef FIT_AS
#undef FIT_ON
#undef CHIP
};

// Lines for any chip stand first, so that a kernel's place among them is the same on each.
constexpr size_t PLACES = std::ranges::count(LINES, std::string_view(), &FitLine::chip);

constexpr size_t place_of_line(std::string_view pattern) {
    return static_cast<size_t>(std::ranges::find(LINES, pattern, &FitLine::pattern) - LINES);
}
static_assert(std::ranges::all_of(LINES, [](const FitLine& line) {
    return line.as.empty() || (place_of_line(line.as) < PLACES && LINES[place_of_line(line.as)].as.empty());
}));

} // namespace detail

inline constexpr Chip CHIPS[] = {
#define CHIP(name, ...) {name, __VA_ARGS__},
#define FIT_ON(...)
#define FIT_AS(...)
#define FIT(...)
#include "dispatch/chips.inc"
#undef FIT
#undef FIT_AS
#undef FIT_ON
#undef CHIP
};

// By the place of the chip in CHIPS, its table of fits: chips with lines of their own have one each, behind one that
// others of 9.0 share, and one for 12.x.
inline constexpr auto TABLE_OF_FITS = [] {
    std::array<uint8_t, std::size(CHIPS)> tables{};
    uint8_t next = 2;
    for (size_t i = 0; i < tables.size(); ++i) {
        const bool own = std::ranges::any_of(detail::LINES, [&](const detail::FitLine& line) {
            return !line.chip.empty() && line.chip == CHIPS[i].name;
        });
        tables[i] = own ? next++ : CHIPS[i].capability == 90 ? 0 : 1;
    }
    return tables;
}();

// By TABLE_OF_FITS, and fit_index. Where a chip has published rates and nothing was measured its units work at these
// rates, and are not hidden quite, so that of kernels that all wait for memory the one with the least other work is
// taken, or with more under way (Target::flight). Products of FP8, which 12.x has instructions for, are as those of
// other types.
inline constexpr auto FITS = [] {
    using detail::LINES, detail::place_of_line;
    constexpr size_t TABLES = *std::ranges::max_element(TABLE_OF_FITS) + 1;
    std::array<std::array<Fit, detail::PLACES>, TABLES> tables{};
    for (const Chip& chip : CHIPS) {
        auto& fits = tables[TABLE_OF_FITS[static_cast<size_t>(&chip - CHIPS)]];
        const auto own = [&](const detail::FitLine& line) { return !line.chip.empty() && line.chip == chip.name; };
        for (const auto& line : LINES) {
            if (line.chip.empty() || own(line)) fits[place_of_line(line.pattern)] = line.fit;
        }
        for (const auto& line : LINES) {
            const auto instead = [&](const detail::FitLine& other) {
                return own(other) && other.pattern == line.pattern;
            };
            if (!line.as.empty() && std::ranges::none_of(LINES, instead))
                fits[place_of_line(line.pattern)] = fits[place_of_line(line.as)];
        }
        if (chip.capability == 90) continue;
        for (const char* fp8 : {"gemm_e4m3", "gemm_fp8"}) fits[place_of_line(fp8)] = fits[place_of_line("gemm")];
        for (Fit& fit : fits) {
            fit.products = fit.shared = fit.fetched = fit.memory = fit.merged = detail::WHOLE;
            fit.exposed = detail::WHOLE;
        }
    }
    return tables;
}();

constexpr bool fits_pattern(std::string_view name, std::string_view pattern) {
    const size_t star = pattern.find('*');
    if (star == pattern.npos) return name.starts_with(pattern);
    return name.starts_with(pattern.substr(0, star)) && place_of(name, pattern.substr(star + 1), star) != name.npos;
}

// The place of a kernel's fit in FITS: of the first line whose pattern its name fits.
constexpr uint8_t fit_index(std::string_view name) {
    uint8_t i = 0;
    while (!fits_pattern(name, detail::LINES[i].pattern)) ++i;
    return i;
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// One row of a dispatch table: a kernel, when it is preferred, and why. Legality is not repeated here: it is the
// kernel's own limits. Everything is resolved while compiling; a row that names a removed kernel, or a fact the
// operator does not have, does not compile.
//
//   ROW(gemm_bf16_tn__64x128x64_s3,  "m<=64",  "short M: one wave, deep K tile")
//       kernel                       prefer    because
#pragma once

#include <string_view>

#include "dispatch/kernel.h"

namespace spark {

constexpr uint32_t MAX_FACTS = 32;
constexpr uint32_t MAX_TERMS = 8;
constexpr uint32_t MAX_LIMITS = 24;

// A condition on one fact of the problem.
struct Term {
    uint8_t fact;
    Rel rel;
    int64_t value;

    constexpr bool holds(int64_t found) const {
        switch (rel) {
        case Rel::multiple_of: return found % value == 0;
        case Rel::at_most: return found <= value;
        case Rel::at_least: return found >= value;
        case Rel::equal: return found == value;
        }
        return false;
    }
};

struct Row {
    const Kernel* kernel;
    uint64_t contract; // hash of the name left of "__"
    uint8_t num_prefer, num_limits;
    Term prefer[MAX_TERMS];
    Term limits[MAX_LIMITS];
    const char* because;
};

// FNV-1a, as Kernel::id.
constexpr uint64_t hash(std::string_view text) {
    uint64_t value = 0xcbf29ce484222325u;
    for (char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return value;
}

namespace detail {

// Called only while compiling, when a table is wrong: the compiler's message shows the name.
inline void dispatch_table_is_wrong(const char* /*why*/) {}

consteval uint8_t fact_index(std::string_view name, std::span<const char* const> facts) {
    for (size_t i = 0; i < facts.size(); ++i) {
        if (name == facts[i]) return static_cast<uint8_t>(i);
    }
    dispatch_table_is_wrong("a limit or preference names a fact that the operator does not have");
    return 0;
}

// "m>=65" with one of % <= >= ==.
consteval Term parse_term(std::string_view text, std::span<const char* const> facts) {
    size_t end = text.find_first_of("%<>=");
    if (end == text.npos) dispatch_table_is_wrong("a preference has no relation");
    bool modulo = text[end] == '%';
    Rel rel = modulo             ? Rel::multiple_of
              : text[end] == '<' ? Rel::at_most
              : text[end] == '>' ? Rel::at_least
                                 : Rel::equal;
    if (!modulo && text[end + 1] != '=') dispatch_table_is_wrong("only %, <=, >= and == are relations");
    int64_t value = 0;
    for (char c : text.substr(end + (modulo ? 1 : 2))) {
        if (c < '0' || c > '9') dispatch_table_is_wrong("a preference ends in a number");
        value = value * 10 + (c - '0');
    }
    return {fact_index(text.substr(0, end), facts), rel, value};
}

} // namespace detail

consteval Row make_row(const Kernel& kernel, std::string_view prefer, const char* because,
                       std::span<const char* const> facts) {
    Row row{};
    row.kernel = &kernel;
    row.contract = hash(kernel.contract);
    row.because = because;
    while (!prefer.empty()) {
        size_t end = prefer.find(' ');
        row.prefer[row.num_prefer++] = detail::parse_term(prefer.substr(0, end), facts);
        prefer = end == prefer.npos ? std::string_view() : prefer.substr(end + 1);
    }
    for (const Limit& limit : kernel.limits) {
        row.limits[row.num_limits++] = {detail::fact_index(limit.fact, facts), limit.rel, limit.value};
    }
    return row;
}

} // namespace spark

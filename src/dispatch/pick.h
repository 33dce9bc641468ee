// SPDX-License-Identifier: Apache-2.0
// Choosing a kernel: the first row of the contract that is legal and preferred. A pure function of the request:
// the same answer every time. Knows neither operators nor the driver.
#pragma once

#include <spark.h>

#include "dispatch/row.h"

namespace spark {

struct Request {
    std::span<const Row> rows;
    std::span<const char* const> fact_names;
    const int64_t* facts;
    uint64_t contract;
    uint32_t batch_facts; // bit i: fact i says how many rows there are; ignored where only preferences count
    bool deterministic;   // only kernels that promise it
    bool batch_invariant; // preferences must not look at batch_facts
    const char* pattern;  // LIBSPARK_KERNEL, or nullptr
    uint64_t kernel_id;   // the caller's choice, or 0
};

// Why a row cannot be taken. `term` is set for limit and preference.
struct Verdict {
    enum Kind : uint8_t { chosen, legal, limit, not_deterministic, pattern, not_asked } kind;
    const Term* term;
};

Verdict judge(const Request& request, const Row& row);
const Row* pick(const Request& request);

// "k is 4095; the kernel needs k%8", into text.
void describe(const Request& request, const Row& row, const Verdict& verdict, char* text, size_t capacity);

// All rows of the contract, one line each, '*' before the chosen one. Returns the size that was needed, without NUL.
size_t explain(const Request& request, char* text, size_t capacity);

} // namespace spark

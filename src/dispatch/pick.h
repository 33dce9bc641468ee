// SPDX-License-Identifier: Apache-2.0
// Choosing a kernel: of the rows of the contract that are legal, the one that costs least on this chip; of several, the
// first of the table. A pure function of the request: the same answer every time. Knows neither operators nor the
// driver.
//
// A tuning file's kernel comes before the cheapest one, if its row is one of those that may be taken: neither limits
// nor flags nor an order of sums give way to it.
//
// Where a row's bits must not follow the batch, the order of sums is that of the first legal row which is no matter of
// the batch: kernels that take few rows alone have no say. Among the kernels of this order the cheapest is taken, as
// ever: all of them give the same bits.
#pragma once

#include <spark.h>

#include "dispatch/row.h"
#include "dispatch/tuning.h"

namespace spark {

struct Request {
    std::span<const Row> rows; // of the contract, in
    Table table;
    std::span<const char* const> fact_names;
    const int64_t* facts;
    const Target* target;
    void (*load)(const CheckedOp& work, const Row& row, Load& load); // of a legal row; nullptr: all rows cost the same
    const CheckedOp* work;
    bool deterministic;   // only kernels that promise it
    bool batch_invariant; // only kernels whose order of sums is their own, and all of one order
    const char* pattern;  // LIBSPARK_KERNEL, or nullptr
    uint64_t kernel_id;   // the caller's choice, or 0
    uint32_t flags;       // of the call; only to tell problems apart
    const Tuning* tuning; // or nullptr
    int32_t rows_fact;    // Operator::rows_fact
};

// What a tuning file calls the problem: contract, facts and flags as a number.
uint64_t problem_of(const Request& request);

// Why a row cannot be taken. `term` is set for limit.
struct Verdict {
    enum Kind : uint8_t {
        legal,
        no_code,
        limit,
        not_deterministic,
        not_invariant,
        other_order,
        pattern,
        not_asked
    } kind;
    const Term* term;
};

Verdict judge(const Request& request, const Row& row);

// Whether a caller may ask for the row's kernel by its id: neither LIBSPARK_KERNEL nor others' order of sums matters.
bool can_run(const Request& request, const Row& row);

// Picoseconds, by the formula of cost.h; 0 where the operator has no load.
int64_t price(const Request& request, const Row& row);

const Row* pick(const Request& request);

// All rows that can_run: the picked one first, the others by price, of equals in the order of the table. `to` has room
// for MAX_ROWS; how many there are.
uint32_t rank(const Request& request, const Row** to);

// "k is 4095; the kernel needs k%8", into text.
void describe(const Request& request, const Row& row, const Verdict& verdict, char* text, size_t capacity);

// All rows of the contract, one line each with its cost, '*' before the chosen one. Returns the size that was needed,
// without NUL.
size_t explain(const Request& request, char* text, size_t capacity);

} // namespace spark

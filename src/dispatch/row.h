// SPDX-License-Identifier: Apache-2.0
// One row of a dispatch table: a kernel, and what it is for. Legality is not repeated here: it is the kernel's own
// limits; nor is cost, which follows from the kernel's constants. Everything is resolved while compiling; a row that
// names a removed kernel, or a kernel whose limit is on a fact the operator does not have, does not compile.
//
//   ROW(gemm_bf16_tn__64x128x64_s3, "short M: one wave, deep K tile")
//       kernel                      because
//
//   ROW_THEN(gemm_bf16_tn__8x32x512, gemm_merge__8x256, "few rows")
//            kernel                  then               because
//
// The second is launched too where the plan says so; ROW_THEN_TWO names two of them. ROW_FOR is the same with the name
// of a contract before it, where that is not the kernel's own.
#pragma once

#include <array>
#include <string_view>

#include "dispatch/cost.h"

namespace spark {

struct Row;
struct CheckedOp; // an operator's checked problem (ops/operator.h); only passed on here
struct Plan;      // what a call enqueues (runtime/launch.h); likewise

// Adds the launches of the work, the row's kernel among them. Runs for queries too: what it sets but addresses must
// follow from the declared shapes alone.
using PlanFor = void(const CheckedOp& work, const Row& row, Plan& plan);

constexpr uint32_t MAX_FACTS = 32;
constexpr uint32_t MAX_LIMITS = 24;
constexpr uint32_t MAX_ROWS = 64; // of a contract

// A condition on one fact of the problem.
struct Term {
    uint8_t fact;
    Rel rel;
    uint8_t number; // among the contract's different conditions
    int64_t value;

    constexpr bool same(const Term& other) const {
        return fact == other.fact && rel == other.rel && value == other.value;
    }
    constexpr bool holds(int64_t found) const {
        switch (rel) {
        case Rel::multiple_of: return (value & (value - 1)) == 0 ? (found & (value - 1)) == 0 : found % value == 0;
        case Rel::at_most: return found <= value;
        case Rel::at_least: return found >= value;
        case Rel::equal: return found == value;
        }
        return false;
    }
};

struct Row {
    static constexpr uint32_t MAX_THEN = 2;

    const Kernel* kernel;
    const Kernel* then[MAX_THEN]; // that the plan may launch too; nullptr: no more
    PlanFor* plan;
    uint64_t contract; // hash of the name left of "__"
    uint16_t count;    // rows of this contract from here on; those of a contract stand together
    uint8_t fit;       // of the kernel, see fit_index
    Tile tile;
    uint8_t num_limits;
    uint64_t conditions; // Term::number of each limit, as bits
    Term limits[MAX_LIMITS];
    const char* because;
};

namespace detail {

// Called only while compiling, when a table is wrong: the compiler's message shows the name.
inline void dispatch_table_is_wrong(const char* /*why*/) {}

consteval uint8_t fact_index(std::string_view name, std::span<const char* const> facts) {
    for (size_t i = 0; i < facts.size(); ++i) {
        if (name == facts[i]) return static_cast<uint8_t>(i);
    }
    dispatch_table_is_wrong("a limit names a fact that the operator does not have");
    return 0;
}

// Numbers the conditions of a contract's rows: rows that share one look at it once.
consteval void number_conditions(std::span<Row> rows) {
    std::array<Term, 64> found{};
    uint8_t count = 0;
    for (Row& row : rows) {
        for (Term& term : std::span(row.limits, row.num_limits)) {
            term.number = 0;
            while (term.number < count && !term.same(found[term.number])) ++term.number;
            if (term.number == found.size()) dispatch_table_is_wrong("a contract has more than 64 conditions");
            if (term.number == count) found[count++] = term;
            row.conditions |= uint64_t{1} << term.number;
        }
    }
}

} // namespace detail

// then: the kernels that the plan may launch too.
template <class... Then>
consteval Row make_row(const Kernel& kernel, const char* because, std::span<const char* const> facts, const Tile& tile,
                       PlanFor* plan, const Then&... then) {
    static_assert(sizeof...(Then) <= Row::MAX_THEN);
    Row row{};
    row.kernel = &kernel;
    uint32_t place = 0;
    ((row.then[place++] = &then), ...);
    row.plan = plan;
    row.contract = hash(kernel.contract);
    row.fit = fit_index(kernel.name);
    row.tile = tile;
    row.because = because;
    for (const Limit& limit : kernel.limits) {
        row.limits[row.num_limits++] = {detail::fact_index(limit.fact, facts), limit.rel, 0, limit.value};
    }
    return row;
}

// The row as one of another contract: its plan makes of such a problem, by the kernels after the first, one of the
// first kernel's.
consteval Row made_for(const char* contract, Row row) {
    row.contract = hash(contract);
    return row;
}

// In a family's plan.cpp, with its tile_of(kernel) and plan(work, row, kernel, [then,] plan): what ROW and ROW_THEN of
// its table.inc are. Both functions see the type of the kernel, so a table that names one they do not know, or another
// family's, does not compile.
#define SPARK_ROW(facts, name, because)                             \
    make_row(kernels::name, because, facts, tile_of(kernels::name), \
             [](const CheckedOp& work, const Row& row, Plan& calls) { plan(work, row, kernels::name, calls); }),
#define SPARK_ROW_THEN(facts, name, next, because)                \
    make_row(                                                     \
        kernels::name, because, facts, tile_of(kernels::name),    \
        [](const CheckedOp& work, const Row& row, Plan& calls) {  \
            plan(work, row, kernels::name, kernels::next, calls); \
        },                                                        \
        kernels::next),
#define SPARK_ROW_OF_THREE(facts, name, next, last, because)                     \
    make_row(                                                                    \
        kernels::name, because, facts, tile_of(kernels::name),                   \
        [](const CheckedOp& work, const Row& row, Plan& calls) {                 \
            plan(work, row, kernels::name, kernels::next, kernels::last, calls); \
        },                                                                       \
        kernels::next, kernels::last)
#define SPARK_ROW_THEN_TWO(...) SPARK_ROW_OF_THREE(__VA_ARGS__),
#define SPARK_ROW_FOR(facts, contract, ...) made_for(contract, SPARK_ROW_OF_THREE(facts, __VA_ARGS__)),

// The rows of a table, found by their contract: each says how many of its own follow.
template <size_t N> consteval std::array<Row, N> make_table(const Row (&rows)[N]) {
    std::array<Row, N> table;
    for (size_t i = N; i-- > 0;) {
        table[i] = rows[i];
        bool last = i + 1 == N || rows[i + 1].contract != rows[i].contract;
        table[i].count = static_cast<uint16_t>(last ? 1 : table[i + 1].count + 1);
        if (table[i].count > MAX_ROWS) detail::dispatch_table_is_wrong("a contract has more than MAX_ROWS rows");
        for (size_t j = i + table[i].count; j < N; ++j) {
            if (rows[j].contract == rows[i].contract) {
                detail::dispatch_table_is_wrong("the rows of a contract do not stand together");
            }
        }
    }
    for (size_t i = 0; i < N; i += table[i].count) {
        detail::number_conditions(std::span(table).subspan(i, table[i].count));
    }
    return table;
}

// All rows of the contract, in order; none if the table has none.
inline std::span<const Row> rows_of(std::span<const Row> table, uint64_t contract) {
    for (size_t i = 0; i < table.size(); i += table[i].count) {
        if (table[i].contract == contract) return table.subspan(i, table[i].count);
    }
    return {};
}

} // namespace spark

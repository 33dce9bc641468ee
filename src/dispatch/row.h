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
// The second is launched too where the plan says so; ROW_THEN_TWO names two of them. ROW_FOR, of two
// kernels ROW_THEN_AS and of one ROW_AS are the same with the name of a contract before it, where that is not the
// kernel's own.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "dispatch/cost.h"

namespace spark {

struct Row;
struct CheckedOp; // an operator's checked problem (ops/operator.h); only passed on here
struct Plan;      // what a call enqueues (runtime/launch.h); likewise

constexpr size_t MAX_THEN = 2;
// The kernels that a row's plan may launch behind the row's own; nullptr: no more.
using Then = std::array<const Kernel*, MAX_THEN>;

// Adds the launches of the work, the row's kernel among them. Runs for queries too: what it sets but addresses must
// follow from the declared shapes alone.
using PlanFor = void(const CheckedOp& work, const Row& row, const Then& then, Plan& plan);

constexpr uint32_t MAX_FACTS = 32;
constexpr uint32_t MAX_ROWS = 64; // of a contract

// A condition on one fact of the problem.
struct Term {
    uint8_t fact;
    Rel rel;
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
    const Kernel* kernel;
    uint64_t contract;           // hash of contract_of the name
    uint64_t conditions;         // the kernel's limits: the contract's terms, as bits
    uint16_t count;              // rows of this contract from here on; those of a contract stand together
    uint16_t first_term;         // of Table::terms: that of bit 0 of the conditions of the contract's rows
    uint8_t plan, because, then; // places in Table::plans, Table::reasons and Table::thens
    uint8_t num_then;            // of the kernels there
    uint8_t fit;                 // of the kernel, see fit_index
    Tile tile;
};

// The rows of an operator, and what they share: their different conditions, contract by contract, plans, reasons and
// kernels that follow. An address is 32 bytes with its relocation, a place one.
struct Table {
    std::span<const Row> rows;
    std::span<const Term> terms;
    std::span<PlanFor* const> plans;
    std::span<const char* const> reasons;
    std::span<const Then> thens;

    void plan(const CheckedOp& work, const Row& row, Plan& calls) const {
        plans[row.plan](work, row, thens[row.then], calls);
    }
};

// A row as ROW says it, of which make_table makes conditions and places.
struct Draft {
    Row row;
    std::span<const Limit> limits;
    PlanFor* plan;
    std::string_view because;
    Then then;
    // These tell plans and kernels apart, since sanitized builds do not compare addresses while compiling.
    uint64_t plan_id = 0;
    std::array<uint64_t, MAX_THEN> then_ids{};
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

// The different conditions of a contract, in the order in which its rows name them.
struct Terms {
    std::array<Term, 64> found{};
    size_t count = 0;

    // The term's bit among them.
    consteval uint64_t add(const Term& term) {
        size_t at = 0;
        while (at < count && !term.same(found[at])) ++at;
        if (at == found.size()) dispatch_table_is_wrong("a contract has more than 64 conditions");
        if (at == count) found[count++] = term;
        return uint64_t{1} << at;
    }
    consteval uint64_t add(std::span<const Limit> limits, std::span<const char* const> facts) {
        uint64_t bits = 0;
        for (const Limit& limit : limits) bits |= add({fact_index(limit.fact, facts), limit.rel, limit.value});
        return bits;
    }
};

// How many of the drafts are of the first one's contract.
consteval size_t count_together(std::span<const Draft> drafts) {
    const auto same = [&](const Draft& draft) { return draft.row.contract == drafts[0].row.contract; };
    size_t count = 0;
    while (count < drafts.size() && same(drafts[count])) ++count;
    if (count > MAX_ROWS) dispatch_table_is_wrong("a contract has more than MAX_ROWS rows");
    if (std::ranges::any_of(drafts.subspan(count), same)) {
        dispatch_table_is_wrong("the rows of a contract do not stand together");
    }
    return count;
}

consteval size_t count_terms(std::span<const Draft> drafts, std::span<const char* const> facts) {
    size_t sum = 0;
    for (size_t i = 0, count = 0; i < drafts.size(); i += count) {
        count = count_together(drafts.subspan(i));
        Terms terms;
        for (const Draft& draft : drafts.subspan(i, count)) terms.add(draft.limits, facts);
        sum += terms.count;
    }
    return sum;
}

// The place of each draft's value among the different ones of all drafts, in the order in which they appear.
template <const auto& DRAFTS> consteval auto places_of(auto Draft::*member) {
    std::array<uint8_t, std::size(DRAFTS)> places{};
    size_t count = 0;
    for (size_t i = 0; i < places.size(); ++i) {
        size_t first = 0;
        while (DRAFTS[first].*member != DRAFTS[i].*member) ++first;
        if (first == i && count > UINT8_MAX) dispatch_table_is_wrong("a table has more than 256 of what rows share");
        places[i] = first == i ? static_cast<uint8_t>(count++) : places[first];
    }
    return places;
}

template <class...> consteval uint64_t id_of() { return hash(__PRETTY_FUNCTION__); }

consteval size_t count_of(const auto& places) { return *std::ranges::max_element(places) + size_t{1}; }

} // namespace detail

// next: the kernels that the plan may launch too.
template <class... Next>
consteval Draft make_row(const Kernel& kernel, std::span<const Limit> limits, const char* because, const Tile& tile,
                         PlanFor* plan, const Next&... next) {
    static_assert(sizeof...(next) <= MAX_THEN);
    Row row{};
    row.kernel = &kernel;
    row.num_then = sizeof...(next);
    row.contract = hash(contract_of(kernel.name));
    row.fit = fit_index(kernel.name);
    row.tile = tile;
    return {row, limits, plan, because, {&next...}, 0, {next.id...}};
}

// The row as one of another contract: its plan makes of such a problem, by the kernels after the first, one of the
// first kernel's.
consteval Draft made_for(const char* contract, Draft draft) {
    draft.row.contract = hash(contract);
    return draft;
}

// The plan of a row whose kernels are of these types, by a family's PlanOf: rows with the same types share it.
template <class PlanOf, class First, class... Next>
void plan_as(const CheckedOp& work, const Row& row, [[maybe_unused]] const Then& then, Plan& calls) {
    [&]<size_t... AT>(std::index_sequence<AT...>) {
        PlanOf::call(work, row, static_cast<const First&>(*row.kernel), static_cast<const Next&>(*then[AT])..., calls);
    }
    (std::index_sequence_for<Next...>());
}

template <class PlanOf, class First, class... Next>
consteval Draft make_row_as(const First& kernel, std::span<const Limit> limits, const char* because, const Tile& tile,
                            const Next&... next) {
    Draft draft = make_row(kernel, limits, because, tile, plan_as<PlanOf, First, Next...>, next...);
    draft.plan_id = detail::id_of<PlanOf, First, Next...>();
    return draft;
}

// In a family's plan.cpp, behind its tile_of(kernel) and plan(work, row, kernel, [then,] plan): what ROW, ROW_THEN of
// its table.inc are. Both functions see the type of the kernel, so a table that names one they do not know, or another
// family's, does not compile.
#define PLAN_OF_ROWS                                     \
    struct PlanOf {                                      \
        static void call(auto&... all) { plan(all...); } \
    };
#define ROW_OF_ONE(name, because) \
    make_row_as<PlanOf>(kernels::name, kernels::limits::name, because, tile_of(kernels::name))
#define ROW(...) ROW_OF_ONE(__VA_ARGS__),
#define ROW_AS(contract, ...) made_for(contract, ROW_OF_ONE(__VA_ARGS__)),
#define ROW_OF_TWO(name, next, because) \
    make_row_as<PlanOf>(kernels::name, kernels::limits::name, because, tile_of(kernels::name), kernels::next)
#define ROW_THEN(...) ROW_OF_TWO(__VA_ARGS__),
#define ROW_THEN_AS(contract, ...) made_for(contract, ROW_OF_TWO(__VA_ARGS__)),
#define ROW_OF_THREE(name, next, last, because)                                                               \
    make_row_as<PlanOf>(kernels::name, kernels::limits::name, because, tile_of(kernels::name), kernels::next, \
                        kernels::last)
#define ROW_THEN_TWO(...) ROW_OF_THREE(__VA_ARGS__),
#define ROW_FOR(contract, ...) made_for(contract, ROW_OF_THREE(__VA_ARGS__)),

template <size_t ROWS, size_t TERMS, size_t PLANS, size_t REASONS, size_t THENS> struct TableOf {
    std::array<Row, ROWS> rows;
    std::array<Term, TERMS> terms;
    std::array<PlanFor*, PLANS> plans;
    std::array<const char*, REASONS> reasons;
    std::array<Then, THENS> thens;

    constexpr operator Table() const { return {rows, terms, plans, reasons, thens}; }
};

// The table of DRAFTS: rows are found by their contract, since each says how many of its own follow.
template <const auto& DRAFTS, const auto& FACTS> consteval auto make_table() {
    constexpr std::span<const Draft> drafts = DRAFTS;
    constexpr auto plans = detail::places_of<DRAFTS>(&Draft::plan_id);
    constexpr auto reasons = detail::places_of<DRAFTS>(&Draft::because);
    constexpr auto thens = detail::places_of<DRAFTS>(&Draft::then_ids);
    TableOf<drafts.size(), detail::count_terms(drafts, FACTS), detail::count_of(plans), detail::count_of(reasons),
            detail::count_of(thens)>
        table{};
    size_t first_term = 0;
    for (size_t i = 0, count = 0; i < drafts.size(); i += count) {
        count = detail::count_together(drafts.subspan(i));
        detail::Terms terms;
        for (size_t j = i; j < i + count; ++j) {
            Row& row = table.rows[j] = drafts[j].row;
            table.plans[row.plan = plans[j]] = drafts[j].plan;
            table.reasons[row.because = reasons[j]] = drafts[j].because.data();
            table.thens[row.then = thens[j]] = drafts[j].then;
            row.count = static_cast<uint16_t>(i + count - j);
            row.first_term = static_cast<uint16_t>(first_term);
            row.conditions = terms.add(drafts[j].limits, FACTS);
        }
        std::copy_n(terms.found.begin(), terms.count, table.terms.begin() + first_term);
        first_term += terms.count;
    }
    return table;
}

// All rows of the contract, in order; none if the table has none.
inline std::span<const Row> rows_of(std::span<const Row> rows, uint64_t contract) {
    for (size_t i = 0; i < rows.size(); i += rows[i].count) {
        if (rows[i].contract == contract) return rows.subspan(i, rows[i].count);
    }
    return {};
}

} // namespace spark

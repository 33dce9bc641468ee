// SPDX-License-Identifier: Apache-2.0
// The choice itself. Runs in every launch: no allocation, no text.
#include "dispatch/pick.h"

#include <fnmatch.h>

#include <bit>

namespace spark {
namespace {

// Conditions that are known to hold, as the bits of Row::conditions: rows of a contract share most of them.
using Holding = uint64_t;

const Term* first_failing(const Request& request, const Row& row, Holding& holding) {
    const Term* terms = request.table.terms.data() + row.first_term;
    for (uint64_t open = row.conditions & ~holding; open != 0; open &= open - 1) {
        const int bit = std::countr_zero(open);
        if (!terms[bit].holds(request.facts[terms[bit].fact])) return &terms[bit];
        holding |= Holding{1} << bit;
    }
    return nullptr;
}

// `order`: the only one, or 0 for any.
Verdict judge_as(const Request& request, const Row& row, uint64_t order, Holding& holding) {
    const Kernel& kernel = *row.kernel;
    if (request.kernel_id != 0 && kernel.id != request.kernel_id) return {Verdict::not_asked, nullptr};
    if (request.target->resident[kernel.index] == 0) return {Verdict::no_code, nullptr};
    if (const Term* term = first_failing(request, row, holding)) return {Verdict::limit, term};
    if (request.deterministic && !kernel.deterministic) return {Verdict::not_deterministic, nullptr};
    if (request.batch_invariant && kernel.order == 0) return {Verdict::not_invariant, nullptr};
    if (request.kernel_id != 0) return {Verdict::legal, nullptr};
    if (request.pattern != nullptr && fnmatch(request.pattern, kernel.name, 0) != 0) return {Verdict::pattern, nullptr};
    if (order != 0 && kernel.order != order) return {Verdict::other_order, nullptr};
    return {Verdict::legal, nullptr};
}

Verdict judge_as(const Request& request, const Row& row, uint64_t order) {
    Holding none = 0;
    return judge_as(request, row, order, none);
}

// The row that the tuning file has for the problem, if it may be taken.
const Row* tuned_row(const Request& request, uint64_t order) {
    if (request.tuning == nullptr || request.tuning->count == 0) return nullptr;
    const uint64_t id = find_tuned(*request.tuning, problem_of(request));
    for (const Row& row : request.rows) {
        if (row.kernel->id == id) return judge_as(request, row, order).kind == Verdict::legal ? &row : nullptr;
    }
    return nullptr;
}

// Whether the row is legal for few rows of the problem only.
bool for_few(const Request& request, const Row& row) {
    const Term* terms = request.table.terms.data() + row.first_term;
    for (uint64_t open = row.conditions; open != 0; open &= open - 1) {
        const Term& term = terms[std::countr_zero(open)];
        if (term.fact == request.rows_fact && term.rel == Rel::at_most && term.value < INT32_MAX) return true;
    }
    return false;
}

// The order that all calls of this kind take, whatever their batch; 0 = any.
uint64_t order_of(const Request& request) {
    if (!request.batch_invariant) return 0;
    for (const Row& row : request.rows) {
        if (!for_few(request, row) && judge_as(request, row, 0).kind == Verdict::legal) return row.kernel->order;
    }
    return 0;
}

} // namespace

Verdict judge(const Request& request, const Row& row) { return judge_as(request, row, order_of(request)); }

bool can_run(const Request& request, const Row& row) {
    Verdict::Kind kind = judge_as(request, row, 0).kind;
    return kind == Verdict::legal || kind == Verdict::pattern;
}

int64_t price(const Request& request, const Row& row) {
    if (request.load == nullptr) return 0;
    Load load;
    request.load(*request.work, row, load);
    if (load.cost != 0) return load.cost;
    const Target& target = *request.target;
    return cost(target, target.fits[row.fit], target.resident[row.kernel->index], load);
}

uint64_t problem_of(const Request& request) {
    uint64_t value = request.rows.empty() ? 0 : request.rows[0].contract;
    const auto mix = [&](uint64_t word) {
        value = (value ^ word) * 0x9e3779b97f4a7c15u;
        value ^= value >> 32;
    };
    for (int64_t fact : std::span(request.facts, request.fact_names.size())) mix(static_cast<uint64_t>(fact));
    mix(request.flags);
    return value;
}

const Row* pick(const Request& request) {
    const Row* cheapest = nullptr;
    int64_t least = 0;
    uint64_t order = order_of(request);
    if (const Row* row = tuned_row(request, order)) return row;
    Holding holding = 0;
    for (const Row& row : request.rows) {
        if (judge_as(request, row, order, holding).kind != Verdict::legal) continue;
        int64_t found = price(request, row);
        if (cheapest == nullptr || found < least) cheapest = &row, least = found;
    }
    return cheapest;
}

uint32_t rank(const Request& request, const Row** to) {
    const Row* picked = pick(request);
    int64_t prices[MAX_ROWS];
    uint32_t count = 0;
    for (const Row& row : request.rows) {
        if (!can_run(request, row)) continue;
        const int64_t found = &row == picked ? -1 : price(request, row);
        uint32_t at = count++;
        for (; at > 0 && prices[at - 1] > found; --at) prices[at] = prices[at - 1], to[at] = to[at - 1];
        prices[at] = found, to[at] = &row;
    }
    return count;
}

} // namespace spark

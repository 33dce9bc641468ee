// SPDX-License-Identifier: Apache-2.0
// The choice itself. Runs in every launch: no allocation, no text.
#include "dispatch/pick.h"

#include <fnmatch.h>

#include <algorithm>

namespace spark {
namespace {

// `holding`: so many of the first limits are known to hold; of the row before, and then of this one.
const Term* first_failing(const Row& row, const int64_t* facts, uint32_t& holding) {
    for (holding = std::min<uint32_t>(holding, row.same_limits); holding < row.num_limits; ++holding) {
        const Term& term = row.limits[holding];
        if (!term.holds(facts[term.fact])) return &term;
    }
    return nullptr;
}

// `order`: the only one, or 0 for any.
Verdict judge_as(const Request& request, const Row& row, uint64_t order, uint32_t& holding) {
    const Kernel& kernel = *row.kernel;
    const Term* term = first_failing(row, request.facts, holding);
    if (request.kernel_id != 0 && kernel.id != request.kernel_id) return {Verdict::not_asked, nullptr};
    if (term != nullptr) return {Verdict::limit, term};
    if (request.deterministic && !kernel.deterministic) return {Verdict::not_deterministic, nullptr};
    if (request.batch_invariant && kernel.order == 0) return {Verdict::not_invariant, nullptr};
    if (request.kernel_id != 0) return {Verdict::legal, nullptr};
    if (request.pattern != nullptr && fnmatch(request.pattern, kernel.name, 0) != 0) return {Verdict::pattern, nullptr};
    if (order != 0 && kernel.order != order) return {Verdict::other_order, nullptr};
    return {Verdict::legal, nullptr};
}

Verdict judge_as(const Request& request, const Row& row, uint64_t order) {
    uint32_t none = 0;
    return judge_as(request, row, order, none);
}

// The order that all calls of this kind take, whatever their batch; 0 = any.
uint64_t order_of(const Request& request) {
    if (!request.batch_invariant) return 0;
    for (const Row& row : request.rows) {
        if (judge_as(request, row, 0).kind == Verdict::legal) return row.kernel->order;
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
    const Fit& fit = target.fits[row.fit];
    return cost(target, fit, target.resident[row.kernel->index], find_pace(target, fit, load), load);
}

const Row* pick(const Request& request) {
    const Row* cheapest = nullptr;
    int64_t least = 0;
    uint64_t order = order_of(request);
    uint32_t holding = 0;
    for (const Row& row : request.rows) {
        if (judge_as(request, row, order, holding).kind != Verdict::legal) continue;
        int64_t found = price(request, row);
        if (cheapest == nullptr || found < least) cheapest = &row, least = found;
    }
    return cheapest;
}

} // namespace spark

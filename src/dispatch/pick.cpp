// SPDX-License-Identifier: Apache-2.0
// The choice itself. Runs in every launch: no allocation, no text.
#include "dispatch/pick.h"

#include <fnmatch.h>

namespace spark {
namespace {

const Term* first_failing(std::span<const Term> terms, const int64_t* facts, uint32_t ignored) {
    for (const Term& term : terms) {
        if ((ignored >> term.fact & 1) == 0 && !term.holds(facts[term.fact])) return &term;
    }
    return nullptr;
}

} // namespace

// `chosen` here means preferred; which of several preferred rows wins is decided by their order.
Verdict judge(const Request& request, const Row& row) {
    const Kernel& kernel = *row.kernel;
    if (request.kernel_id != 0 && kernel.id != request.kernel_id) return {Verdict::not_asked, nullptr};
    if (const Term* term = first_failing({row.limits, row.num_limits}, request.facts, 0)) return {Verdict::limit, term};
    if (request.deterministic && !kernel.deterministic) return {Verdict::not_deterministic, nullptr};
    if (request.kernel_id != 0) return {Verdict::chosen, nullptr};
    if (request.pattern != nullptr && fnmatch(request.pattern, kernel.name, 0) != 0) return {Verdict::pattern, nullptr};
    uint32_t ignored = request.batch_invariant ? request.batch_facts : 0;
    const Term* term = first_failing({row.prefer, row.num_prefer}, request.facts, ignored);
    return {term == nullptr ? Verdict::chosen : Verdict::legal, term};
}

// If nothing is both legal and preferred, the last legal row is taken: the plain kernel.
const Row* pick(const Request& request) {
    const Row* last = nullptr;
    for (const Row& row : request.rows) {
        if (row.contract != request.contract) continue;
        Verdict verdict = judge(request, row);
        if (verdict.kind == Verdict::chosen) return &row;
        if (verdict.kind == Verdict::legal) last = &row;
    }
    return last;
}

} // namespace spark

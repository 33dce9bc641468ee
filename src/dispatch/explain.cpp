// SPDX-License-Identifier: Apache-2.0
// The choice in words: each row with the first limit that it fails, or why it was taken.
#include <cstdio>

#include "dispatch/pick.h"

namespace spark {
namespace {

constexpr const char* RELATION[] = {"%", "<=", ">=", "=="};

} // namespace

void describe(const Request& request, const Row& row, const Verdict& verdict, char* text, size_t capacity) {
    const Term* term = verdict.term;
    switch (verdict.kind) {
    case Verdict::chosen: snprintf(text, capacity, "%s", row.because); return;
    case Verdict::not_deterministic: snprintf(text, capacity, "is not deterministic"); return;
    case Verdict::pattern: snprintf(text, capacity, "LIBSPARK_KERNEL=%s leaves it out", request.pattern); return;
    case Verdict::not_asked: snprintf(text, capacity, "exec.kernel_id asks for another"); return;
    case Verdict::limit:
    case Verdict::legal: break;
    }
    const char* fact = request.fact_names[term->fact];
    snprintf(text, capacity, "%s is %lld; the kernel %s %s%s%lld", fact,
             static_cast<long long>(request.facts[term->fact]),
             verdict.kind == Verdict::limit ? "needs" : "is preferred for", fact, RELATION[static_cast<int>(term->rel)],
             static_cast<long long>(term->value));
}

size_t explain(const Request& request, char* text, size_t capacity) {
    const Row* winner = pick(request);
    size_t used = 0;
    for (const Row& row : request.rows) {
        if (row.contract != request.contract) continue;
        Verdict verdict = judge(request, row);
        char why[160];
        describe(request, row, verdict, why, sizeof why);
        bool legal = verdict.kind == Verdict::chosen || verdict.kind == Verdict::legal;
        int n = snprintf(used < capacity ? text + used : nullptr, used < capacity ? capacity - used : 0,
                         "%c %-40s %s  %s\n", &row == winner ? '*' : ' ', row.kernel->name, legal ? "yes" : "no ", why);
        used += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return used;
}

} // namespace spark

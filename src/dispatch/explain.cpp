// SPDX-License-Identifier: Apache-2.0
// The choice in words: each row with the first limit that it fails, or what it costs and of what.
#include <cstdarg>
#include <cstdio>

#include "dispatch/pick.h"

namespace spark {
namespace {

constexpr const char* RELATION[] = {"%", "<=", ">=", "=="};

// Text that may be longer than its room: what does not fit is counted all the same.
struct Page {
    char* text;
    size_t capacity, used;

    __attribute__((format(printf, 2, 3))) void print(const char* format, ...) {
        va_list values;
        va_start(values, format);
        bool room = used < capacity;
        int n = vsnprintf(room ? text + used : nullptr, room ? capacity - used : 0, format, values);
        va_end(values);
        used += n > 0 ? static_cast<size_t>(n) : 0;
    }
};

long long ll(int64_t value) { return static_cast<long long>(value); }

// " (clusters of 2 x 1 x 1) (dependent)": what the kernel's header asks of its launch.
void print_launch(const Kernel& kernel, Page& page) {
    const Grid& cluster = kernel.cluster;
    if (cluster.x != 0) page.print(" (clusters of %u x %u x %u)", cluster.x, cluster.y, cluster.z);
    if (kernel.dependent) page.print(" (dependent)");
}

// ", then gemm_merge__8x256 (dependent)": what the row may launch after its kernel.
void print_then(const Table& table, const Row& row, Page& page) {
    for (const Kernel* then : std::span(table.thens[row.then]).first(row.num_then)) {
        page.print(", then %s", then->name);
        print_launch(*then, page);
    }
}

// "12.345 us: 264 blocks, 2 on an SM, 128 steps of ..."
void print_price(const Request& request, const Row& row, Page& page) {
    if (request.load == nullptr) return page.print("%s", request.table.reasons[row.because]);
    Load load;
    request.load(*request.work, row, load);
    int64_t ns = price(request, row) / 1000;
    page.print(
        "%lld.%03lld us: %lld blocks, %u an SM, steps %lld (at most %lld, %u under way) of %u products, "
        "%u shared, %u fetched, %u issued in %u turns (%u before loads), %u filled, %u syncs, %u rounds, %u written "
        "(at most %u more); %llu bytes, %u launches, %llu merged in "
        "%lld clocks; %s",
        ll(ns / 1000), ll(ns % 1000), ll(load.blocks), request.target->resident[row.kernel->index], ll(load.steps),
        ll(load.longest), load.stages, load.step.products, load.step.shared, load.step.fetched, load.step.issued,
        load.step.turns, load.step.behind, load.filled, load.syncs, load.rounds, load.written, load.late,
        static_cast<unsigned long long>(load.bytes), load.launches, static_cast<unsigned long long>(load.merged),
        ll(load.later), request.table.reasons[row.because]);
}

} // namespace

void describe(const Request& request, const Row& row, const Verdict& verdict, char* text, size_t capacity) {
    const Term* term = verdict.term;
    switch (verdict.kind) {
    case Verdict::legal: snprintf(text, capacity, "%s", request.table.reasons[row.because]); return;
    case Verdict::no_code:
        snprintf(text, capacity, "compute capability %u.%u lacks its instructions",
                 request.target->chip->capability / 10, request.target->chip->capability % 10);
        return;
    case Verdict::not_deterministic: snprintf(text, capacity, "is not deterministic"); return;
    case Verdict::not_invariant: snprintf(text, capacity, "adds in an order that follows the batch"); return;
    case Verdict::other_order: snprintf(text, capacity, "adds in another order than the calls beside it"); return;
    case Verdict::pattern: snprintf(text, capacity, "LIBSPARK_KERNEL=%s leaves it out", request.pattern); return;
    case Verdict::not_asked: snprintf(text, capacity, "exec.kernel_id asks for another"); return;
    case Verdict::limit: break;
    }
    const char* fact = request.fact_names[term->fact];
    snprintf(text, capacity, "%s is %lld; the kernel needs %s%s%lld", fact, ll(request.facts[term->fact]), fact,
             RELATION[static_cast<int>(term->rel)], ll(term->value));
}

size_t explain(const Request& request, char* text, size_t capacity) {
    const Row* winner = pick(request);
    Page page{text, capacity, 0};
    for (const Row& row : request.rows) {
        Verdict verdict = judge(request, row);
        bool legal = verdict.kind == Verdict::legal;
        page.print("%c %-40s %s  ", &row == winner ? '*' : ' ', row.kernel->name, legal ? "yes" : "no ");
        if (legal) {
            print_price(request, row, page);
            print_launch(*row.kernel, page);
            print_then(request.table, row, page);
        } else {
            char why[160];
            describe(request, row, verdict, why, sizeof why);
            page.print("%s", why);
        }
        page.print("\n");
    }
    if (request.tuning != nullptr) {
        const uint64_t problem = problem_of(request);
        page.print("  problem %016llx on chip %s, library %s; %s\n", static_cast<unsigned long long>(problem),
                   request.tuning->chip, request.tuning->library,
                   request.tuning->count == 0                  ? "no tuning file"
                   : find_tuned(*request.tuning, problem) == 0 ? "not in the tuning file"
                                                               : "in the tuning file");
    }
    return page.used;
}

} // namespace spark

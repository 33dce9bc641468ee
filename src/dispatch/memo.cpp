// SPDX-License-Identifier: Apache-2.0
// A word is read after the version that it belongs to, and the version again after all words: one that a writer has
// touched meanwhile is another.
#include "dispatch/memo.h"

#include "dispatch/pick.h"

namespace spark {

Memo::Problem Memo::problem_of(const Request& request, uint64_t bytes) {
    Problem problem;
    problem.count = problem.place = 0;
    const uint64_t kind =
        request.flags | uint64_t{request.deterministic} << 32 | uint64_t{request.batch_invariant} << 33;
    const uint64_t first[] = {reinterpret_cast<uintptr_t>(request.rows.data()), request.kernel_id, kind, bytes};
    static_assert(std::size(first) + MAX_FACTS == Problem::MAX_WORDS);
    const size_t count = std::size(first) + request.fact_names.size();
    if (request.rows.empty() || request.pattern != nullptr || count > Problem::MAX_WORDS) return problem;
    uint64_t sum = 0;
    const auto add = [&](uint64_t word) {
        constexpr uint64_t ODD = 0x9e3779b97f4a7c15u;
        problem.words[problem.count++] = word;
        sum += word * (ODD * (2 * problem.count + 1)); // each by another factor, none waiting for the one before
    };
    for (uint64_t word : first) add(word);
    for (uint32_t i = 0; i < request.fact_names.size(); ++i) add(static_cast<uint64_t>(request.facts[i]));
    problem.place = static_cast<uint32_t>(sum >> (64 - PLACES_BITS));
    return problem;
}

const Row* Memo::find(const Problem& problem) const {
    const Entry& entry = entries_[problem.place];
    const uint32_t version = entry.version.load(std::memory_order_acquire);
    if (problem.count == 0 || version % 2 != 0) return nullptr;
    for (uint32_t i = 0; i < problem.count; ++i) {
        if (entry.words[i].load(std::memory_order_acquire) != problem.words[i]) return nullptr;
    }
    const Row* row = entry.row.load(std::memory_order_acquire);
    return entry.version.load(std::memory_order_relaxed) == version ? row : nullptr;
}

void Memo::keep(const Problem& problem, const Row& row) {
    Entry& entry = entries_[problem.place];
    uint32_t version = entry.version.load(std::memory_order_relaxed);
    if (problem.count == 0 || version % 2 != 0) return;
    if (!entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return;
    for (uint32_t i = 0; i < problem.count; ++i) entry.words[i].store(problem.words[i], std::memory_order_release);
    entry.row.store(&row, std::memory_order_release);
    entry.version.store(version + 2, std::memory_order_release);
}

} // namespace spark

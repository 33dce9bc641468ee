// SPDX-License-Identifier: Apache-2.0
// The choices of a context's last problems, so that a problem that comes again is not priced again: a model asks for
// the same few in every layer. An answer is what pick says of the request, since all that it follows from is compared.
// For any number of threads at a time: nobody waits, and who meets a writer prices for himself. Knows no operators.
#pragma once

#include <atomic>
#include <cstdint>

#include "dispatch/row.h"

namespace spark {

struct Request;

class Memo {
public:
    // All that a choice follows from, where load looks at facts and `bytes` alone.
    struct Problem {
        static constexpr uint32_t MAX_WORDS = 4 + MAX_FACTS; // room for any operator
        uint64_t words[MAX_WORDS];
        uint32_t count; // 0: it cannot be remembered
        uint32_t place;
    };
    static Problem problem_of(const Request& request, uint64_t bytes);

    // nullptr: not known.
    const Row* find(const Problem& problem) const;
    void keep(const Problem& problem, const Row& row);

private:
    static constexpr uint32_t PLACES_BITS = 6; // each new problem takes the place of another
    struct Entry {
        std::atomic<uint32_t> version; // odd: being written; 0: empty
        std::atomic<uint64_t> words[Problem::MAX_WORDS];
        std::atomic<const Row*> row;
    };
    Entry entries_[1 << PLACES_BITS];
};

} // namespace spark

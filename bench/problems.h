// SPDX-License-Identifier: Apache-2.0
// From a case of tests/ops, which has arguments and sizes, to a row that launches it on random operands.
// Used by the rows of a table or a user (items.cpp) and by the drawn ones (choices.cpp).
#pragma once

#include "items.h"

#include "check/case.h"

namespace bench {

// The rows so far, and what the name or shape of a row must contain: no other row is made, so that a run of a few needs
// neither the memory of all of them nor a kernel for each.
struct Rows {
    Buffers& buffers;
    std::string only;
    bool rivals = false; // every legal kernel is a way
    std::vector<Item> items;
};

// Throws std::runtime_error with the library's sentence.
void add_row(Rows& rows, const check::Entry& entry);

} // namespace bench

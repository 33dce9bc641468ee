// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_append and kv_gather: which row of a cache of `batches` sequences of `rows` rows is each token's.
//   with a batch index: (batch[t], positions[t]);  without: positions[t] is the slot batch * rows + row
//   with a table too: its entry (batch[t], positions[t] / rows) is the batch, and the row is what is left
//   the same of a list: entry firsts[batch[t]] + positions[t] / rows, before firsts[batch[t] + 1]
//   negative: skipped;  outside: refused, and counted;  else the token's elements are copied, bit for bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ref {

struct KvPlaces {
    std::vector<int64_t> slot; // of each token; -1 = none
    int64_t refused = 0;
};
struct KvTable {
    std::vector<int64_t> pages;       // of all sequences; none: no table
    int64_t entries = 0;              // of one; 0 where there are firsts
    std::vector<int64_t> firsts = {}; // of each sequence in a list of entries, and the end
};
KvPlaces kv_places(std::span<const int64_t> positions, std::span<const int64_t> batch, int64_t batches, int64_t rows,
                   const KvTable& table = {});

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of embedding: rows of a table, by number.
//   id in [0, V): y[i] = table[id], bit for bit.
//   else: the table is not read; the count of refused ids grows by one; y[i] becomes zero if zero_invalid, else it
//   stays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ref {

using Row = std::vector<uint64_t>; // one row's elements, as bits

// `rows` is changed in place, one row for each id. Returns how many ids were refused.
int64_t embedding(std::span<const Row> table, std::span<const int64_t> ids, bool zero_invalid, std::span<Row> rows);

} // namespace ref

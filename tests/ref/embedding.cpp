// SPDX-License-Identifier: Apache-2.0
// Oracle of embedding; see the header for the definition.
#include "ref/embedding.h"

namespace ref {

int64_t embedding(std::span<const Row> table, std::span<const int64_t> ids, bool zero_invalid, std::span<Row> rows) {
    int64_t refused = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && ids[i] < static_cast<int64_t>(table.size())) {
            rows[i] = table[static_cast<size_t>(ids[i])];
            continue;
        }
        ++refused;
        if (zero_invalid) {
            rows[i].assign(rows[i].size(), 0);
        }
    }
    return refused;
}

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of embedding; see the header for the definition.
#include "ref/embedding.h"

#include "ref/call.h"

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

static Results compute_embedding(const Call& call) {
    const Tensor& table = call["table"];
    const size_t width = table.size(1);
    std::vector<Row> rows(table.size(0), Row(width));
    for (size_t i = 0; i < table.bits.size(); ++i) {
        rows[i / width][i % width] = table.bits[i];
    }
    const std::vector<int64_t> ids = call["ids"].integers();
    std::vector<Row> found(ids.size());
    embedding(rows, ids, false, found);
    Result y;
    for (const Row& row : found) {
        y.bits.insert(y.bits.end(), row.begin(), row.end());
    }
    return {{"y", y}};
}

extern const Oracle EMBEDDING{"embedding", compute_embedding};

} // namespace ref

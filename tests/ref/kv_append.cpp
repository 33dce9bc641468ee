// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_append; see the header for the definition.
#include "ref/kv_append.h"

namespace ref {

KvPlaces kv_places(std::span<const int64_t> positions, std::span<const int64_t> batch, int64_t batches, int64_t rows) {
    KvPlaces out;
    for (size_t t = 0; t < positions.size(); ++t) {
        out.slot.push_back(-1);
        if (positions[t] < 0 || (!batch.empty() && batch[t] < 0)) {
            continue;
        }
        const int64_t b = batch.empty() ? (rows == 0 ? batches : positions[t] / rows) : batch[t];
        const int64_t s = batch.empty() ? (rows == 0 ? 0 : positions[t] % rows) : positions[t];
        if (b >= batches || s >= rows) {
            ++out.refused;
            continue;
        }
        out.slot.back() = b * rows + s;
    }
    return out;
}

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_append; see the header for the definition.
#include "ref/kv_append.h"

#include "ref/call.h"

#include <algorithm>

namespace ref {

// The page of a token, or `none` where the table has no such entry.
static int64_t page_of(const KvTable& table, int64_t sequence, int64_t entry, int64_t none) {
    const bool listed = !table.firsts.empty();
    const auto all = static_cast<int64_t>(table.pages.size());
    if (sequence >= (listed ? static_cast<int64_t>(table.firsts.size()) - 1 : all / table.entries)) {
        return none;
    }
    const int64_t first = listed ? table.firsts[static_cast<size_t>(sequence)] : sequence * table.entries;
    const int64_t end = listed ? table.firsts[static_cast<size_t>(sequence) + 1] : first + table.entries;
    const bool inside = first >= 0 && first + entry < std::min(end, all);
    const int64_t page = inside ? table.pages[static_cast<size_t>(first + entry)] : none;
    return page < 0 ? none : page;
}

KvPlaces kv_places(std::span<const int64_t> positions, std::span<const int64_t> batch, int64_t batches, int64_t rows,
                   const KvTable& table) {
    KvPlaces out;
    for (size_t t = 0; t < positions.size(); ++t) {
        out.slot.push_back(-1);
        if (positions[t] < 0 || (!batch.empty() && batch[t] < 0)) {
            continue;
        }
        const bool paged = table.entries > 0 || !table.firsts.empty();
        const bool cut = batch.empty() || paged; // positions run through several batches
        const int64_t above = rows == 0 ? batches : positions[t] / rows;
        const int64_t b = batch.empty() ? above : cut ? page_of(table, batch[t], above, batches) : batch[t];
        const int64_t s = cut ? (rows == 0 ? 0 : positions[t] % rows) : positions[t];
        if (b >= batches || s >= rows) {
            ++out.refused;
            continue;
        }
        out.slot.back() = b * rows + s;
    }
    return out;
}

static Results compute_kv_append(const Call& call) {
    const Tensor &before = call["before"], &k = call["k"];
    const std::vector<int64_t> positions = call["positions"].integers(), batch = call["batch"].integers();
    const KvPlaces places = kv_places(positions, batch, before.shape[0], before.shape[1]);
    const size_t row = before.size(2) * before.size(3);
    Result after{.bits = before.bits};
    for (size_t t = 0; t < places.slot.size(); ++t) {
        for (size_t i = 0; i < row && places.slot[t] >= 0; ++i) {
            after.bits[static_cast<size_t>(places.slot[t]) * row + i] = k.bits[t * row + i];
        }
    }
    return {{"after", after}};
}

extern const Oracle KV_APPEND{"kv_append", compute_kv_append};

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_gather: the rows that kv_append.h finds, taken out of the cache; `before` is k until then.
#include "ref/call.h"
#include "ref/kv_append.h"

namespace ref {

static Results compute_kv_gather(const Call& call) {
    const Tensor &before = call["before"], &cache = call["cache"];
    const std::vector<int64_t> positions = call["positions"].integers(), batch = call["batch"].integers();
    const KvPlaces places = kv_places(positions, batch, cache.shape[0], cache.shape[1]);
    const size_t row = cache.size(2) * cache.size(3);
    Result after{.bits = before.bits};
    for (size_t t = 0; t < places.slot.size(); ++t) {
        for (size_t i = 0; i < row && places.slot[t] >= 0; ++i) {
            after.bits[t * row + i] = cache.bits[static_cast<size_t>(places.slot[t]) * row + i];
        }
    }
    return {{"after", after}};
}

extern const Oracle KV_GATHER{"kv_gather", compute_kv_gather};

} // namespace ref

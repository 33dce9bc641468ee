// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_copy; see the header for the definition. `cache` is copied into; `source` is the other cache, where
// there is one.
#include "ref/kv_copy.h"

#include "ref/call.h"

namespace ref {

KvMoves kv_moves(std::span<const int64_t> pairs, int64_t sources, int64_t batches) {
    KvMoves out;
    for (size_t n = 0; n + 1 < pairs.size(); n += 2) {
        const int64_t from = pairs[n], to = pairs[n + 1];
        if (from < 0 || to < 0) {
            continue;
        }
        if (from >= sources || to >= batches) {
            ++out.refused;
            continue;
        }
        out.moves.push_back({from, to});
    }
    return out;
}

static Results compute_kv_copy(const Call& call) {
    const Tensor &cache = call["cache"], &other = call["source"], &source = other.shape.empty() ? cache : other;
    const size_t page = cache.size(1) * cache.size(2) * cache.size(3);
    Result after{.bits = cache.bits};
    for (const auto& [from, to] : kv_moves(call["pairs"].integers(), source.shape[0], cache.shape[0]).moves) {
        for (size_t i = 0; i < page; ++i) {
            after.bits[static_cast<size_t>(to) * page + i] = source.bits[static_cast<size_t>(from) * page + i];
        }
    }
    return {{"after", after}};
}

extern const Oracle KV_COPY{"kv_copy", compute_kv_copy};

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of kv_copy: which page of a cache of `batches` pages takes which of `sources`.
//   from or to negative: skipped;  from >= sources or to >= batches: refused, and counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ref {

struct KvMoves {
    struct Move {
        int64_t from, to;
    };
    std::vector<Move> moves;
    int64_t refused = 0;
};
KvMoves kv_moves(std::span<const int64_t> pairs, int64_t sources, int64_t batches);

} // namespace ref

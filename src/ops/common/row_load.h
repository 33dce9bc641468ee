// SPDX-License-Identifier: Apache-2.0
// What the kernels of row operators do, from the constants that all of them have: LANES threads keep a row in VECS
// chunks of eight elements each, THREADS / LANES rows a block; or, without LANES, THREADS threads walk over a row, STEP
// elements an access and four accesses at a time, twice. Used by norm and softmax, for plan and load alike.
#pragma once

#include <algorithm>

#include "core/divide.h"
#include "ops/operator.h"

namespace spark {

// rows: of a block at a time; columns: of a row in a step, 0 where all of it is read at once.
template <class Of> consteval Tile row_tile(const Of& kernel) {
    constexpr uint32_t CHUNK = 8, A_CHUNK = 60, A_CUT_CHUNK = 120, A_KEPT_ELEMENT = 16, AN_ELEMENT = 40;
    constexpr uint32_t AT_A_TIME = 4, WARP = 32;
    const uint32_t warps = kernel.block / WARP;
    if constexpr (requires { kernel.LANES; }) {
        uint32_t of_a_chunk = A_CHUNK;
        if constexpr (requires { kernel.STEP; }) of_a_chunk = kernel.STEP == 1 ? CHUNK * A_KEPT_ELEMENT : A_CHUNK;
        if constexpr (requires { kernel.CUT; }) of_a_chunk = kernel.CUT == 1 ? A_CUT_CHUNK : of_a_chunk;
        return {.rows = kernel.block / kernel.LANES,
                .syncs = kernel.LANES > WARP,
                .step = {.issued = warps * kernel.VECS * of_a_chunk}};
    } else {
        return {.rows = 1,
                .columns = kernel.block * kernel.STEP * AT_A_TIME,
                .syncs = 1,
                .step = {.issued = warps * AT_A_TIME * (kernel.STEP == 1 ? AN_ELEMENT : A_CHUNK)}};
    }
}

// Blocks that do all rows. They step over rows where a grid cannot count so many.
inline int64_t row_blocks(const Row& row, int64_t rows) {
    return std::min<int64_t>(ceil_div(rows, row.tile.rows), INT32_MAX);
}

// Blocks that the device holds at a time.
inline int64_t held_blocks(const Target& target, const Row& row) {
    return int64_t{target.sms} * target.resident[row.kernel->index];
}

inline void load_rows(const CheckedOp& work, const Row& row, int64_t rows, int64_t n, Load& load) {
    load.blocks = row_blocks(row, rows);
    load.steps = row.tile.columns == 0 ? 1 : 2 * ceil_div(n, row.tile.columns);
    load.longest = load.steps;
    load.bytes = work.bytes;
    load.launches = 1, load.merged = 0, load.cost = 0;
    load.stages = row.tile.stages, load.filled = 0, load.syncs = row.tile.syncs, load.rounds = 0;
    load.written = load.late = 0, load.later = 0;
    load.step = row.tile.step;
    uint64_t a_block = quotient(work.bytes, static_cast<uint64_t>(std::max<int64_t>(load.blocks, 1)));
    if (row.tile.columns != 0) a_block += a_block / 2; // the second walk reads again what the first has read
    uint64_t a_step = quotient(a_block, static_cast<uint64_t>(std::max<int64_t>(load.steps, 1)));
    load.step.fetched = static_cast<uint32_t>(std::min<uint64_t>(a_step, UINT32_MAX));
}

} // namespace spark

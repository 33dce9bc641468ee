// SPDX-License-Identifier: Apache-2.0
// How a kernel cuts attention into blocks, and what these do: for the plan and for the choice of the kernel.
#include <algorithm>
#include <bit>

#include "core/divide.h"
#include "ops/attention/problem.h"

namespace spark {
namespace {

constexpr uint32_t LEAST_KEYS = 128;
constexpr int64_t MOST_PARTS = 256; // of a part whose length is free; of such parts

// Where few queries meet many keys, blocks share the keys of a unit: in as many parts as one wave has room for, or,
// where their length is fixed, in all of them, unless the units fill a wave.
int64_t count_parts(const CheckedOp& work, const Row& row, int64_t units) {
    const Attention& p = work.as<Attention>();
    int64_t slots = int64_t{work.target->sms} * work.target->resident[row.kernel->index], keys = keys_seen(p, p.sq);
    int64_t parts = row.tile.part == 0 ? std::min({quotient(slots, units), ceil_shift(keys, LEAST_KEYS), MOST_PARTS})
                    : units >= slots || keys <= row.tile.part
                        ? 1
                        : ceil_div(std::min(p.sk, keys + row.tile.part - 1), row.tile.part);
    return std::max<int64_t>(parts, 1);
}

// Keys that a query sees, on average, and those that a tile looks at beside them.
int64_t mean_keys(const Attention& p, int64_t rows) {
    if (p.sk == 0) return 0;
    int64_t most = keys_seen(p, rows);
    if (p.right >= p.sq) return most;
    int64_t seen = p.sq <= p.sk ? p.sk - p.sq / 2 : p.sk / 2 / (p.sq / p.sk);
    return std::min(most, seen + rows / 2);
}

} // namespace

int64_t keys_seen(const Attention& p, int64_t rows) {
    int64_t seen = std::min(p.left, p.sk), behind = std::max<int64_t>(p.sq - rows, 0); // the last one stands at the end
    seen += std::min({p.right, behind, p.sk - seen});
    return seen + std::min(rows, p.sk - seen);
}

AttentionCut cut_attention(const CheckedOp& work, const Row& row) {
    const Attention& p = work.as<Attention>();
    if (!row.tile.splits) return {p.seqs * p.h * ceil_shift(p.sq, row.tile.rows), 0, 1};
    int64_t tiles = ceil_shift(p.sq * p.group, row.tile.rows), units = p.seqs * p.hkv * tiles;
    return {units, tiles, count_parts(work, row, units)};
}

void load_attention(const CheckedOp& work, const Row& row, Load& load) {
    const Attention& p = work.as<Attention>();
    const Tile& tile = row.tile;
    AttentionCut cut = cut_attention(work, row);
    load.blocks = cut.units * cut.parts;
    load.steps =
        ceil_shift(tile.splits ? ceil_div(keys_seen(p, p.sq), cut.parts) : mean_keys(p, tile.rows), tile.depth);
    load.longest = tile.splits ? load.steps : ceil_shift(keys_seen(p, tile.rows), tile.depth);
    load.bytes = work.bytes, load.cost = 0;
    load.launches = cut.parts > 1 ? 2 : 1;
    load.merged = cut.parts > 1 ? static_cast<uint64_t>(load.blocks * tile.rows * tile.columns) * 2 * sizeof(float) : 0;
    // A block of the merge costs as much as reading so many bytes.
    constexpr uint64_t A_MERGE = 8192;
    if (cut.parts > 1 && tile.part == 0) {
        load.merged += A_MERGE * static_cast<uint64_t>(p.seqs * p.h * p.sq * ceil_shift(p.d, 128));
    }
    load.stages = tile.stages, load.syncs = tile.syncs;
    load.written = tile.rows * tile.columns * static_cast<uint32_t>(sizeof(float));
    load.step = tile.step;
    if (!tile.splits) return;
    if (tile.part == 0) { // rows that a tile holds, on average
        load.written = static_cast<uint32_t>(ceil_div(p.sq * p.group, std::max<int64_t>(cut.tiles, 1))) * tile.columns *
                       static_cast<uint32_t>(sizeof(float));
        return;
    }
    // Warps without rows only wait.
    auto rows = static_cast<uint32_t>(std::min<int64_t>(ceil_shift(p.sq * p.group, 16) * 16, tile.rows));
    for (uint32_t* count : {&load.step.products, &load.step.shared, &load.step.issued, &load.written}) {
        *count = static_cast<uint32_t>(uint64_t{*count} * rows >> std::countr_zero(tile.rows));
    }
}

} // namespace spark

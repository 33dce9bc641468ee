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

// Tiles of as many rows as those of prompts, whose parts have a free length and are merged by a warp a row.
bool is_wide(const Tile& tile) { return tile.part == 0 && tile.copied != 0; }

// Parts whose length is free: as many as one wave has room for. Of units that fill more than one wave, a few, where the
// waves get so much fuller that it pays for the merge.
int64_t free_parts(int64_t slots, int64_t units, int64_t keys) {
    constexpr int64_t LONG_KEYS = 2048, FEW = 4;
    if (units <= slots) return std::min({quotient(slots, units), ceil_shift(keys, LEAST_KEYS), MOST_PARTS});
    int64_t best = 1, waves = ceil_div(units, slots); // of the best
    for (int64_t parts = 2; parts <= std::min(FEW, keys / LONG_KEYS); ++parts) {
        const int64_t now = ceil_div(units * parts, slots);
        if (now * best * 10 < waves * parts * 9) best = parts, waves = now;
    }
    return best;
}

// Of tiles of queries, whose time is that of products, not of memory: one part, or one to four waves of parts, where
// blocks begin as seldom as waves are full.
int64_t wide_parts(int64_t slots, int64_t units, int64_t keys) {
    constexpr int64_t A_WAVE = 256, LEAST = 256, MOST = 32; // keys that a wave's begin and end are worth; of a part
    int64_t waves = ceil_div(units, slots), best = 1, least = waves * (keys + A_WAVE) / 16 * 15;
    for (int64_t last = waves + 3; waves <= last; ++waves) {
        const int64_t parts = std::min(quotient(slots * waves, units), MOST);
        if (parts < 2) continue;
        const int64_t each = ceil_div(keys, parts);
        if (each < LEAST) break;
        const int64_t now = waves * (each + A_WAVE);
        if (now < least) best = parts, least = now;
    }
    return best;
}

// Where few queries meet many keys, blocks share the keys of a unit: in parts whose length is free, or, where it is
// fixed, in all of them, unless the units fill a wave, of prompts of wide heads a quarter: their sums take much memory.
int64_t count_parts(const CheckedOp& work, const Row& row, int64_t units) {
    const Attention& p = work.as<Attention>();
    int64_t slots = int64_t{work.target->sms} * work.target->resident[row.kernel->index], keys = keys_seen(p, p.sq);
    const int64_t filled = p.sq > 64 && p.d > 256 ? slots / 4 : slots;
    int64_t parts = is_wide(row.tile)    ? wide_parts(slots, units, keys)
                    : row.tile.part == 0 ? free_parts(slots, units, keys)
                    : units >= filled || keys <= row.tile.part
                        ? 1
                        : ceil_div(std::min(p.sk, keys + row.tile.part - 1), row.tile.part);
    // Tiles of 16 bits leave results that are codes to the merge.
    return std::max<int64_t>(parts, p.o_coded && p.kv_bits == 16 && row.tile.part != 0 ? 2 : 1);
}

// Keys that a query sees, on average, and those that a tile looks at beside them.
int64_t mean_keys(const Attention& p, int64_t rows) {
    if (p.sk == 0) return 0;
    int64_t most = keys_seen(p, rows);
    if (p.right >= p.sq) return most;
    int64_t seen = p.sq <= p.sk ? p.sk - p.sq / 2 : p.sk / 2 / (p.sq / p.sk);
    return std::min(most, seen + rows / 2);
}

// Keys of the longest part. Parts whose length is free are of whole tiles of 64 keys.
int64_t longest_part(const Tile& tile, int64_t keys, int64_t parts) {
    constexpr uint32_t GRAIN = 64;
    if (parts == 1) return keys;
    if (tile.part != 0) return std::min<int64_t>(keys, tile.part);
    return ceil_div(ceil_shift(keys, GRAIN), parts) * GRAIN;
}

// What `rows` of a tile do of what all of them do.
uint32_t scaled(uint32_t count, uint32_t rows, const Tile& tile) {
    return static_cast<uint32_t>(uint64_t{count} * rows >> std::countr_zero<uint32_t>(tile.rows));
}

void load_parts(const Attention& p, const Tile& tile, const AttentionCut& cut, Load& load) {
    constexpr int64_t A_MERGE = 900;   // clocks of an SM for a block of the merge
    constexpr uint32_t WIDE_WARP = 32; // rows
    const int64_t keys = keys_seen(p, p.sq), rows = p.sq * p.group;
    const auto used = static_cast<uint32_t>(std::min<int64_t>(rows, tile.rows)); // of the largest tile
    // A tile of neighbours shares among its parts what these see.
    const int64_t seen = is_wide(tile) ? mean_keys(p, std::min(ceil_div(int64_t{tile.rows}, p.group), p.sq)) : keys;
    load.steps = ceil_shift(ceil_div(seen, cut.parts), tile.depth);
    load.longest = std::max(load.steps, ceil_shift(longest_part(tile, keys, cut.parts), tile.depth));
    if (cut.parts > 1) {
        const bool by_rows = is_wide(tile) || (tile.part == 0 && merged_by_rows(p, tile.columns, cut.parts));
        const int64_t merges = by_rows ? p.seqs * p.sq * ceil_shift(p.h, 8)
                                       : p.seqs * p.h * p.sq * (tile.part == 0 ? ceil_shift(p.dv, 128) : 1);
        load.launches = 2;
        load.merged = static_cast<uint64_t>(load.blocks * used * tile.columns) * 2 * sizeof(float);
        load.later = A_MERGE * merges;
    }
    if (tile.stored != 0) load.rounds += static_cast<uint32_t>(ceil_shift(used, tile.stored));
    if (tile.copied == 0) {
        load.written = used * tile.columns * static_cast<uint32_t>(sizeof(float));
        return;
    }
    // Warps without rows only copy, as the others do. With a second warp of a wide tile a step takes as long as with
    // all four: measured so on an H200, not understood.
    const uint32_t copies = attention_copies(load.step.fetched),
                   whole = static_cast<uint32_t>(ceil_shift(used, 16) * 16);
    const uint32_t working = is_wide(tile) && whole > WIDE_WARP ? uint32_t{tile.rows} : whole;
    load.rounds += static_cast<uint32_t>(ceil_shift(whole, tile.copied));
    load.step.issued = scaled(load.step.issued - copies, working, tile) + copies;
    load.step.products = scaled(load.step.products, working, tile);
    load.step.shared = scaled(load.step.shared, whole, tile);
    load.written = scaled(load.written, whole, tile);
}

// A launch that makes rows of 16 bits of keys and values, at what memory gives.
void load_widened(const CheckedOp& work, Load& load) {
    constexpr unsigned MIB_BITS = 20, TICKS_A_CLOCK = 16;
    const Attention& p = work.as<Attention>();
    const int64_t of_token = 2 * p.hkv * p.d, room = (widened(p) << (MIB_BITS - 1)) / of_token;
    const int64_t tokens = std::min(p.seqs * std::min(p.sk, p.t), room); // as facts say it
    const auto kib = static_cast<uint64_t>(tokens * of_token / 8 * (16 + p.kv_bits)) >> 10;
    load.launches = 2;
    load.later = static_cast<int64_t>(kib * work.target->memory >> (MIB_BITS - 10)) / TICKS_A_CLOCK * work.target->sms;
}

} // namespace

// Where queries see the more keys the later they are, so many that each SM gets a few blocks of them; else, and where a
// row has few blocks, those that read the same keys are beside each other.
uint32_t rows_beside(const CheckedOp& work, const Row& row) {
    constexpr int64_t FEW = 3, LEAST_GROUPS = 8;
    const Attention& p = work.as<Attention>();
    const int64_t rows = p.seqs * p.h, groups = ceil_shift(p.sq, row.tile.rows);
    uint32_t beside = 0;
    if (p.right >= p.sq || p.left < p.sq || groups < LEAST_GROUPS) return beside;
    while (groups << beside < FEW * work.target->sms && rows % (int64_t{2} << beside) == 0) ++beside;
    return beside;
}

bool merged_by_rows(const Attention& p, uint32_t columns, int64_t parts) {
    constexpr int64_t AT_ONCE = 8; // that a warp has under way
    return parts <= AT_ONCE && columns <= 128 && !p.o_coded;
}

int64_t keys_seen(const Attention& p, int64_t rows) {
    int64_t seen = std::min(p.left, p.sk), behind = std::max<int64_t>(p.sq - rows, 0); // the last one stands at the end
    seen += std::min({p.right, behind, p.sk - seen});
    return seen + std::min(rows, p.sk - seen);
}

int64_t widened_rows(const Attention& p) {
    int64_t rows;
    if (p.packed_k) return p.t;
    return __builtin_mul_overflow(p.seqs, p.t, &rows) ? INT64_MAX : rows;
}

int64_t widened(const Attention& p) {
    constexpr unsigned MIB_BITS = 20;
    unsigned __int128 bytes = 1;
    for (int64_t size : {widened_rows(p), p.hkv, p.d}) bytes *= static_cast<uint64_t>(std::max<int64_t>(size, 0));
    return static_cast<int64_t>(std::min<unsigned __int128>((bytes * 4 >> MIB_BITS) + 1, INT32_MAX));
}

AttentionCut cut_attention(const CheckedOp& work, const Row& row) {
    const Attention& p = work.as<Attention>();
    if (!row.tile.splits) return {p.seqs * p.h * ceil_shift(p.sq, row.tile.rows), 0, 1};
    int64_t tiles = ceil_shift(p.sq * p.group, row.tile.rows), units = p.seqs * p.hkv * tiles;
    return {units, tiles, count_parts(work, row, units)};
}

namespace {

void load_kernel(const CheckedOp& work, const Row& row, Load& load) {
    const Attention& p = work.as<Attention>();
    const Tile& tile = row.tile;
    AttentionCut cut = cut_attention(work, row);
    load.blocks = cut.units * cut.parts;
    load.bytes = work.bytes, load.cost = 0;
    load.launches = 1, load.merged = 0;
    load.stages = tile.stages, load.filled = 0, load.syncs = tile.syncs, load.rounds = tile.rounds;
    load.late = 0, load.later = 0;
    load.written = tile.rows * tile.columns * static_cast<uint32_t>(sizeof(float));
    load.step = tile.step;
    if (tile.splits) return load_parts(p, tile, cut, load);
    load.steps = ceil_shift(mean_keys(p, tile.rows), tile.depth);
    load.longest = ceil_shift(keys_seen(p, tile.rows), tile.depth);
    // Of rows beside each other the longest blocks begin first: behind a wave they end with the others, and in one
    // they share their SMs with the shortest.
    if (rows_beside(work, row) != 0) {
        const int64_t slots = int64_t{work.target->sms} * work.target->resident[row.kernel->index];
        load.longest = load.blocks < slots ? (load.steps + 2 * load.longest) / 3 : load.steps;
    }
    if (row.num_then != 0) return load_widened(work, load);
    const uint32_t paged = p.kv_bits == 16 ? 8 : 16; // what looking rows up takes: so many times less than products
    if (p.paged && tile.columns > 64) load.step.products += load.step.products / paged;
}

} // namespace

void load_attention(const CheckedOp& work, const Row& row, Load& load) {
    load_kernel(work, row, load);
    if (work.as<Attention>().q_coded != 0 && !row.tile.codes) ++load.launches; // for queries' rows of 16 bits
}

} // namespace spark

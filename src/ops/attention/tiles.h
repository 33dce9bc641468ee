// SPDX-License-Identifier: Apache-2.0
// The tile of each kernel of attention, from its constants: what a step and a block cost.
#pragma once

#include <algorithm>
#include <bit>

#include "ops/attention/problem.h"
#include "spark_kernels.h"

namespace spark {

constexpr uint32_t WARP = 32, ELEM = 2, CHUNK = 16;

// One step of a kernel that takes `keys` keys of elements of `bits` bits to `rows` queries. `readers` warps read each
// key, and make 16-bit elements of codes, or of widened ones have them made once; all together read `queries` bytes.
// Its barrier, and where keys are found row by row the look for them, come before the copies for the next one.
consteval Step step_of(uint32_t rows, uint32_t keys, uint32_t width, uint32_t bits, uint32_t readers, uint32_t queries,
                       bool by_row, bool widened = false) {
    constexpr uint32_t PRODUCT = 16 * 8 * 16, FRAGMENT_LOAD = 512, A_SCORE = 8, CONVERTED = 128, BLOCK = 16;
    const uint32_t elements = 2 * keys * width, scales = bits == 4 ? elements / BLOCK : 0;
    uint32_t products = 2 * rows * keys * width / PRODUCT, fetched = elements * bits / 8 + scales;
    const uint32_t wide = widened ? elements * ELEM : fetched, makers = widened ? 1 : readers;
    uint32_t read = wide * readers + queries;
    uint32_t issued = products + read / FRAGMENT_LOAD + rows * keys / WARP * A_SCORE + attention_copies(fetched);
    // Of bf16; keys of f16 take half of FP8's.
    const uint32_t to_convert = bits == 16 ? 0 : bits == 8 ? 11 : 20;
    issued += elements * makers / CONVERTED * to_convert / 2;
    const uint32_t turns = by_row || widened ? 2 : 1, moved = widened ? wide + fetched : 0;
    return {products, read + fetched + moved, fetched, issued, turns, turns};
}

// Rows that a block copies from or stores to memory at a time, of so many columns in pieces of `piece` bytes a thread.
consteval uint32_t rows_at_once(uint32_t threads, uint32_t width, uint32_t piece) {
    return std::max(threads / std::bit_ceil(width * ELEM / piece), 1u);
}

// rows: queries of a head, or of all heads that share keys where these are split; columns: of the sums; depth: keys.
// A warp has queries of its own and all keys. From one barrier to the next it takes as many tiles of keys as half a
// ring has, and reads its queries for each, unless they are held.
template <class Of>
consteval Tile tile_of_rows(const Of& k, uint32_t rows, bool held, bool by_row, bool widened = false,
                            uint32_t sides = 1) {
    uint32_t tiles = k.PL / 2, keys = tiles * 16 * k.NK;
    uint32_t queries = held ? 0 : rows * k.D * ELEM * tiles;
    return {.rows = rows,
            .columns = k.D,
            .depth = keys,
            .stages = 1,
            .part = k.PART,
            .step = step_of(rows, keys, k.D, k.KV, k.block / WARP / sides, queries, by_row, widened)};
}
// What a block's number says of it is found for its keys and again for its results, where registers are full by
// divisions of 64 bits (tiles.ptxh in ptx/lib/tile/attention).
consteval Tile tile_of(const kernels::attention_kernel& k) {
    constexpr uint32_t DIVISIONS = 8;
    const bool widened = k.KV != 8 * ELEM;
    Tile tile = tile_of_rows(k, 16 * k.W * k.MF, k.HELD != 0, false, widened);
    if (widened || k.D > 128) tile.rounds = DIVISIONS;
    return tile;
}
// Products of codes are those of half as many columns of 16 bits. Each warp puts values apart, 128 by an instruction.
consteval Tile tile_of(const kernels::attention_fp8_kernel& k) {
    constexpr uint32_t APART = 128;
    Tile tile = tile_of_rows(k, 16 * k.W * k.MF, k.HELD != 0, false);
    const uint32_t queries = k.HELD != 0 ? 0 : tile.rows * k.D * (k.PL / 2);
    tile.step = step_of(tile.rows, tile.depth, k.D / 2, 8 * ELEM, k.W, queries, false);
    tile.step.issued += tile.depth * k.D * k.W / APART;
    tile.codes = true;
    return tile;
}
// Of integers the same for scores, beside values of 16 bits.
consteval Tile tile_of(const kernels::attention_i8_kernel& k) {
    Tile tile = tile_of_rows(k, 16 * k.W * k.MF, k.HELD != 0, false);
    const uint32_t queries = k.HELD != 0 ? 0 : tile.rows * k.D * (k.PL / 2), scores = tile.rows * tile.depth;
    tile.step = step_of(tile.rows, tile.depth, k.D * 3 / 4, 8 * ELEM, k.W, queries, false);
    tile.step.issued += scores / WARP;
    return tile;
}
// Values of another width: as much work as of what both are on average.
consteval Tile tile_of(const kernels::attention_apart_kernel& k) {
    constexpr uint32_t DIVISIONS = 8;
    const uint32_t rows = 16 * k.W * k.MF, tiles = k.PL / 2, keys = tiles * 16 * k.NK;
    const uint32_t queries = rows * k.D * ELEM * tiles;
    return {.rows = rows,
            .columns = k.DV,
            .depth = keys,
            .stages = 1,
            .rounds = DIVISIONS,
            .part = k.PART,
            .step = step_of(rows, keys, (k.D + k.DV) / 2, k.KV, k.block / WARP, queries, false)};
}
// Each row is one of a query and a head, which a division finds; then which warps have rows, and what these see.
consteval Tile tile_of(const kernels::attention_parts_kernel& k) {
    Tile tile = tile_of_rows(k, k.ROWS, k.HELD != 0, true, false, k.SIDES);
    tile.syncs = 3, tile.splits = true;
    tile.copied = rows_at_once(k.block, k.D, CHUNK);
    return tile;
}
// Likewise, in parts as the device wants them.
consteval Tile tile_of(const kernels::attention_wide_kernel& k) {
    const bool widened = k.KV != 8 * ELEM;
    Tile tile = tile_of_rows(k, k.ROWS, k.HELD != 0, k.PAGES != 0 && !widened, widened);
    tile.syncs = 2, tile.splits = true;
    tile.copied = rows_at_once(k.block, k.D, CHUNK);
    return tile;
}
// A warp has keys of its own and all queries. Stages of codes are counted by 128 keys, as the costs were fitted.
consteval Tile tile_of(const kernels::attention_split_kernel& k) {
    const uint32_t tiles = k.KV == 8 ? 2 : k.NK;
    uint32_t keys = 16 * tiles * k.W, queries = k.ROWS * k.D * ELEM * (k.block / WARP);
    return {.rows = k.ROWS,
            .columns = k.D,
            .depth = keys,
            .stages = 1,
            .syncs = 1,
            .rounds = k.ROWS / rows_at_once(k.block, k.D, CHUNK), // all rows are copied, as zeros where there is none
            .stored = rows_at_once(k.block, k.D, CHUNK / 2),
            .splits = true,
            .step = step_of(k.ROWS, keys, k.D, k.KV, 1, queries, true)};
}
// A warp a query, a key at a time, whose loads it waits for.
consteval Tile tile_of(const kernels::attention_generic_kernel&) {
    constexpr uint32_t QUERIES = 64;
    return {.rows = QUERIES, .depth = 1, .step = {.issued = QUERIES * 100}};
}
consteval Tile tile_of(const kernels::attention_widths_kernel&) {
    constexpr uint32_t QUERIES = 64;
    return {.rows = QUERIES, .depth = 1, .step = {.issued = QUERIES * 160}};
}
// The same, of numbers that are looked at for their type.
consteval Tile tile_of(const kernels::attention_any_kernel&) {
    constexpr uint32_t QUERIES = 64;
    return {.rows = QUERIES, .depth = 1, .step = {.issued = QUERIES * 240}};
}

} // namespace spark

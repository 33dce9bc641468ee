// SPDX-License-Identifier: Apache-2.0
// What a block of each kernel does in a step, from its header's constants: for plan.cpp, whose rows take it.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/place_of.h"
#include "dispatch/cost.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// A product of tensor cores takes 32 bytes of k in the same time whatever the type (of FP8 not on 9.0, where it is two
// products of halves and their conversion).
constexpr uint32_t WARP = 32, PRODUCT = 16 * 8 * 32, COPY = 16, A_COPY = 7;

consteval uint32_t copies(uint32_t fetched) { return fetched / COPY / WARP * A_COPY; }

consteval bool splits_halves(const Kernel& k) { return place_of(k.name, "_bf16x3_") != std::string_view::npos; }

consteval bool is_gated(const Kernel& k) { return place_of(k.name, "_gated__") != std::string_view::npos; }

// rows, columns: of d, a block; depth: of k, a step. stages: as the ring waits for them, which is filled before the
// first step.
template <class Of> consteval Tile tile_of_ring(const Of& k, uint32_t stages, bool splits, uint32_t groups = 1) {
    constexpr uint32_t FRAGMENT_LOAD = 512;
    uint32_t products = k.TM * k.TN * k.TK * k.ELEM / PRODUCT, fetched = (k.TM + k.TN) * k.TK * k.ELEM;
    // Each warp reads the fragments of its own rows and columns, and rounds or splits them where they are F32; of so
    // many groups of warps each has its own k.
    const uint32_t read = k.block / WARP / groups * (16 * k.MF + 8 * k.NF) * k.TK * k.ELEM;
    const uint32_t floats = read / sizeof(float) / WARP;
    const bool thrice = splits_halves(k);
    const uint32_t made = thrice ? 3 * floats : k.ELEM == sizeof(float) ? floats : 0;
    if (thrice) products += products / 2; // three of halves, for two that would bring as many bytes
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = stages,
            .filled = stages + 1,
            .rounds = 1,
            .splits = splits,
            .gates = is_gated(k),
            .step = {.products = products,
                     .shared = read + fetched,
                     .fetched = fetched,
                     .issued = products + read / FRAGMENT_LOAD + made,
                     .full_rate = k.ELEM == 1}};
}
consteval Tile tile_of(const kernels::gemm_kernel& k) {
    Tile tile = tile_of_ring(k, k.ST - 2, !is_gated(k));
    tile.step.issued += copies(tile.step.fetched);
    return tile;
}
// An instruction for 32 of k, of which b has half, and their places.
consteval Tile tile_of(const kernels::gemm_sparse_kernel& k) {
    constexpr uint32_t FRAGMENT_LOAD = 512, A_PLACE = 128; // loads of words that are half used
    const uint32_t products = k.TM * k.TN * k.TK * k.ELEM / PRODUCT / 2;
    const uint32_t of_b = k.TN * k.TK * k.ELEM / 2, fetched = k.TM * k.TK * k.ELEM + of_b + k.TN * k.TK / 8;
    const uint32_t read = k.block / WARP * (8 * k.MF * k.TK + 16 * k.NF * k.TK / 2) * k.ELEM;
    const uint32_t issued = products + read / FRAGMENT_LOAD + k.block / WARP * 16 * k.NF * k.TK / 8 / A_PLACE;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = k.ST - 2,
            .filled = k.ST - 1,
            .rounds = 1,
            .splits = true,
            .step = {.products = products,
                     .shared = read + fetched,
                     .fetched = fetched,
                     .issued = issued + copies(fetched),
                     .full_rate = k.ELEM == 1}};
}
// Sums of a step are promoted: an instruction for each number of d.
consteval Tile tile_of(const kernels::gemm_promoted_kernel& k) {
    Tile tile = tile_of_ring(k, k.ST - 2, false);
    tile.step.issued += copies(tile.step.fetched) + k.TM * k.TN / WARP;
    return tile;
}
// A stage is copied by two instructions of one thread, when all warps have left it; they do not wait for each other.
// Rows that begin inside sectors come at 16 bytes a clock, the longer the better; in percent of what the FIT has of L2.
consteval Tile tile_of(const kernels::gemm_bulk_kernel& k) {
    constexpr uint32_t LINE = 128, LEAST = 64 * 64, APART = 16, HALF = 16, ADDED = 8; // of 9.0 at least; of 12.x 4
    Tile tile = tile_of_ring(k, k.ST - 2, k.JOIN != 0, k.WK);
    tile.step.turns = 0;
    tile.joins = k.JOIN != 0;
    tile.inside = k.ODD != 0 ? 0 : k.TK * k.ELEM < LINE ? 120 : k.TM * k.TN <= LEAST ? 200 : 55;
    if (k.ODD != 0) tile.step.issued += APART;
    if (k.SUM == HALF) {
        tile.step.full_rate = true;
        tile.step.issued += ADDED * tile.step.products;
    }
    return tile;
}
// Codes of a tile become numbers once: so many instructions for eight of them a lane, behind a barrier.
consteval Tile tile_of(const kernels::gemm_decoded_kernel& k) {
    constexpr uint32_t EIGHT = 8, OF_CODES = 22;
    Tile tile = tile_of_ring(k, k.ST - 2, true);
    const uint32_t codes = k.TN * k.TK / 2, numbers = k.TN * k.TK * k.ELEM;
    tile.step.turns = 1;
    tile.step.fetched -= numbers - codes;
    tile.step.shared += 2 * codes;
    tile.step.issued += k.TN * k.TK / EIGHT / WARP * OF_CODES;
    return tile;
}
// The warps share k; fragments come straight into registers: b, a, and the products of both wait for each other.
consteval Tile tile_of(const kernels::gemm_rows_kernel& k) {
    uint32_t bytes = k.block / WARP * k.STEPS * 64, fetched = (k.TM + k.TN) * bytes;
    uint32_t products = std::max(k.TN, 16u) * k.TM * bytes / PRODUCT;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = bytes / k.ELEM,
            .stages = 1,
            .syncs = 1,
            .gates = is_gated(k),
            .step = {.products = products,
                     .fetched = fetched,
                     .issued = 2 * (products + copies(fetched)),
                     .turns = 3,
                     .full_rate = k.ELEM == 1}};
}
// As gemm.rows, of blocks of 32 codes: so many instructions a warp for each of them, by 16 columns and 16 rows.
consteval Tile tile_of(const kernels::gemm_weights_kernel& k) {
    constexpr uint32_t STAGE = 256, BLOCK = 32, A_BLOCK = 65;
    const uint32_t depth = k.WARPS * STAGE, blocks = k.WARPS * STAGE / BLOCK;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = depth,
            .stages = 1,
            .syncs = 2,
            .step = {k.TM * k.TN * depth / (PRODUCT / 2), 0, k.TM * depth * k.ELEM + k.WARPS * k.TN * k.PITCH,
                     blocks * A_BLOCK}};
}
// A warp's pairs of a block of 32 codes serve all rows: so many instructions for them by 16 columns, and for 8 rows of
// a by themselves and by 16 columns.
consteval Tile tile_of(const kernels::gemm_packed_kernel& k) {
    constexpr uint32_t STAGE = 256, BLOCK = 32, OF_CODES = 35, OF_A = 5, OF_SUMS = 6;
    const uint32_t warps = k.block / WARP, of_a = k.TM * STAGE * k.ELEM, fetched = of_a + k.TN * k.PITCH;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = STAGE,
            .stages = 1,
            .step = {k.TM * k.TN * STAGE / (PRODUCT / 2), warps * of_a + k.TN * k.PITCH + fetched, fetched,
                     warps * STAGE / BLOCK * (k.NF * OF_CODES + k.MF * (OF_A + OF_SUMS * k.NF))}};
}
// As gemm.packed, but for sums of 128 of k.
consteval Tile tile_of(const kernels::gemm_grouped_kernel& k) {
    constexpr uint32_t BLOCK = 32, OF_CODES = 34, OF_A = 1, OF_SUMS = 5;
    const uint32_t warps = k.block / WARP, of_a = k.TM * k.TK * k.ELEM, of_b = k.TN * k.TK / 2, fetched = of_a + of_b;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = 1,
            .splits = true,
            .step = {k.TM * k.TN * k.TK / (PRODUCT / 2), warps / k.WK * of_a + of_b + fetched, fetched,
                     warps / k.WK * k.TK / BLOCK * (k.NF * OF_CODES + k.MF * (OF_A + OF_SUMS * k.NF))}};
}
// One row of a, whose warps share k in SHARE parts; so many instructions for 32 of k of 16 columns, and to begin with.
consteval Tile tile_of(const kernels::gemm_digits_kernel& k) {
    constexpr uint32_t BLOCK = 32, OF_CODES = 25;
    const uint32_t depth = k.SHARE * k.TK;
    return {
        .rows = k.TM,
        .columns = k.TN,
        .depth = depth,
        .stages = 3,
        .syncs = 0,
        .step = {k.WARPS * k.TK / 16, 0, k.TM * depth * k.ELEM + k.TN * depth / 2, k.WARPS * k.TK / BLOCK * OF_CODES}};
}
// The same, filled by bulk copies.
consteval Tile tile_of(const kernels::gemm_grouped_bulk_kernel& k) {
    constexpr uint32_t BLOCK = 32, RECORDS = 256, OF_CODES = 26, OF_RECORDS = 60, OF_LOOKS = 70, OF_A = 1;
    const bool records = k.BY == RECORDS, looks = place_of(k.name, "_nf4__") != std::string_view::npos;
    const bool whole = k.STORED == k.UNIT || looks;
    const uint32_t of_codes = looks ? OF_LOOKS : records ? OF_RECORDS : OF_CODES;
    const uint32_t of_sums = 2 + (whole ? 0 : 4 * BLOCK / (records ? BLOCK : k.BY)); // products, and what adds them
    const uint32_t warps = k.block / WARP, of_a = k.TM * k.TK * k.ELEM, of_b = k.TN * k.PITCH, fetched = of_a + of_b;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = 1,
            .splits = true,
            .step = {k.TM * k.TN * k.TK / (PRODUCT / 2), warps / k.WK * of_a + of_b + fetched, fetched,
                     warps / k.WK * k.TK / BLOCK * (k.NF * of_codes + k.MF * (OF_A + of_sums * k.NF))}};
}
// As gemm.rows, of 64 bytes of codes a step: so many instructions a warp for those of 16 columns, and for 8 rows of a.
consteval Tile tile_of(const kernels::gemm_codes_kernel& k) {
    constexpr uint32_t BYTES = 64, OF_CODES = 75, OF_A = 24;
    const uint32_t steps = k.WARPS * k.STEPS, depth = steps * BYTES;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = depth,
            .stages = 1,
            .syncs = 1,
            .step = {k.TM * k.TN * depth / (PRODUCT / 2), 0, k.TM * depth * k.ELEM + k.TN * depth,
                     steps * (k.NF * OF_CODES + k.MF * OF_A)}};
}
// A thread an element of d.
consteval Tile tile_of(const kernels::gemm_generic_kernel& k) {
    constexpr uint32_t ROWS = 8, COLUMNS = 32, DEPTH = 8;
    return {.rows = ROWS,
            .columns = COLUMNS,
            .depth = DEPTH,
            .step = {.fetched = (ROWS + COLUMNS) * DEPTH * k.ELEM, .issued = k.block / WARP * DEPTH * 9}};
}
// No products of tensor cores: instructions, each of 32 of them, and the loads of their factors, of which a warp's have
// 128 bytes of a and 256 of b for each 64 rows and columns.
consteval Tile tile_of(const kernels::gemm_f32_kernel& k) {
    constexpr uint32_t FLOAT = sizeof(float);
    const uint32_t fetched = (k.TM + k.TN) * k.TK * FLOAT, warps = k.block / WARP;
    const uint32_t loads = warps * k.TK * (k.TM + k.TN) / 64, products = k.TM * k.TN * k.TK / WARP;
    const uint32_t read = warps * k.TK * (2 * k.TM + 4 * k.TN);
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = 1,
            .step = {.shared = read + fetched, .fetched = fetched, .issued = products + loads + copies(fetched)}};
}
// A lane a column, of TM / WARPS rows: for each four of k a warp loads its columns of b, 512 bytes, and of each row of
// a 16 that all lanes get, which takes half as long.
consteval Tile tile_of(const kernels::gemm_ordered_kernel& k) {
    constexpr uint32_t FLOAT = sizeof(float), FOUR = 4, CHUNKS = WARP * FOUR * FLOAT;
    const uint32_t fours = k.TK / FOUR, fetched = (k.TM + k.TN) * k.TK * FLOAT;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = k.TK,
            .stages = k.ST - 1,
            .filled = k.ST,
            .rounds = 1,
            .step = {.shared = fours * (k.WARPS * CHUNKS + k.TM * CHUNKS / 2) + fetched,
                     .fetched = fetched,
                     .issued = fours * (FOUR * k.TM + k.TM + 2 * k.WARPS)}};
}

// As of gemm_kernel; depth counts elements, and words of scales are copied and loaded too.
consteval Tile tile_of(const kernels::gemm_scaled_kernel& k) {
    constexpr uint32_t FRAGMENT_LOAD = 512;
    const uint32_t products = k.TM * k.TN * k.TK / PRODUCT, depth = k.TK * k.PER_BYTE;
    const uint32_t scales = (k.TM + k.TN) * depth / k.V, of_b = k.TN * k.TK * k.PER_BYTE * k.B_BITS / 8;
    const uint32_t fetched = k.TM * k.TK + of_b + scales;
    const uint32_t read = k.block / WARP * (16 * k.MF + 8 * k.NF) * (k.TK + depth / k.V);
    const uint32_t words = scales / sizeof(uint32_t) / WARP * A_COPY;
    return {.rows = k.TM,
            .columns = k.TN,
            .depth = depth,
            .stages = k.ST - 1,
            .step = {.products = products,
                     .shared = read + fetched,
                     .fetched = fetched,
                     .issued = products + read / FRAGMENT_LOAD + copies(fetched) + words,
                     .full_rate = true}};
}
// A thread an element of d, and a dozen instructions for each product of codes.
consteval Tile tile_of(const kernels::gemm_scaled_generic_kernel& k) {
    constexpr uint32_t ROWS = 8, COLUMNS = 32, DEPTH = 16;
    return {.rows = ROWS,
            .columns = COLUMNS,
            .depth = DEPTH,
            .step = {.fetched = (ROWS + COLUMNS) * DEPTH, .issued = k.block / WARP * DEPTH * 16}};
}

} // namespace
} // namespace spark

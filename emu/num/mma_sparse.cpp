// SPDX-License-Identifier: Apache-2.0
// Sparse mma by rows: for each row of A the rows of B that it picks, multiplied as mma_any does, or by whole tiles.
#include "mma_sparse.h"

#include <cstring>

namespace emu::num {
namespace {

constexpr unsigned ROWS = 16, COLUMNS = 8, LANES = 32;
constexpr unsigned FIRST_OF_TWO = 0b0100, SECOND_OF_TWO = 0b1110;

bool has_wide_metadata(const MmaKind& kept) { return bits_of(kept, kept.a) >= 16; }
unsigned kept_of_chunk(const MmaKind& kept) { return kept.k / chunks_of(kept); } // 1, 2 or 4

// Where the four bits of a chunk are.
struct Place {
    unsigned lane, shift;
};
Place place_of(const SparseKind& kind, unsigned row, unsigned chunk) {
    const unsigned g = row % 8, half = row / 8, first = kind.selector * (4 / selectors_of(kind.kept));
    if (has_wide_metadata(kind.kept)) return {4 * g + first + chunk / 4, 16 * half + 4 * (chunk % 4)};
    return {4 * g + first + half + 2 * (chunk / 8), 4 * (chunk % 8)};
}

bool is_legal(const SparseKind& kind, unsigned bits) {
    const unsigned low = bits & 3, high = bits >> 2;
    if (kept_of_chunk(kind.kept) == 1) return bits == FIRST_OF_TWO || bits == SECOND_OF_TWO;
    return kind.ordered ? low < high : low != high;
}

// The place in the whole row of element i of a chunk.
unsigned column_of(unsigned kept_of_chunk, unsigned chunk, unsigned i, unsigned bits) {
    const unsigned position = bits >> (kept_of_chunk == 4 ? i / 2 : i) * 2 & 3;
    if (kept_of_chunk == 1) return 2 * chunk + (bits == SECOND_OF_TWO);
    return kept_of_chunk == 2 ? 4 * chunk + position : 8 * chunk + 2 * position + i % 2;
}

// Register and lane of element k of the first column of B, and where in the register it begins. The next column's lane
// is four on.
struct Element {
    unsigned reg, lane, shift;
};
Element element_of(unsigned bits, unsigned k) {
    const unsigned w = 32 / bits;
    return {k / (4 * w), k / w % 4, bits * (k % w)};
}

// The rows of B that one row of A picks, as B of the kept product.
void pick_rows(const SparseKind& kind, unsigned row, Planes b, const uint32_t* metadata, uint32_t (&picked)[4][LANES]) {
    const unsigned bits = bits_of(kind.kept, kind.kept.b), each = kept_of_chunk(kind.kept);
    const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
    std::memset(picked, 0, sizeof picked);
    for (unsigned k = 0; k < kind.kept.k; ++k) {
        const Place place = place_of(kind, row, k / each);
        const unsigned from_k = column_of(each, k / each, k % each, metadata[place.lane] >> place.shift & 15);
        const Element from = element_of(bits, from_k), to = element_of(bits, k);
        const uint32_t* const source = b[from.reg] + from.lane;
        uint32_t* const target = picked[to.reg] + to.lane;
        for (unsigned lane = 0; lane < 4 * COLUMNS; lane += 4)
            target[lane] |= (source[lane] >> from.shift & mask) << to.shift;
    }
}

// Takes one row of a result over.
void keep_row(const MmaKind& kept, unsigned row, const uint32_t (&from)[4][LANES], uint32_t (&to)[4][LANES]) {
    const unsigned count = kept.output == MmaOutput::f16 ? 1 : 2;
    for (unsigned i = 0; i < count; ++i)
        std::memcpy(&to[count * (row / 8) + i][4 * (row % 8)], &from[count * (row / 8) + i][4 * (row % 8)], 16);
}

bool is_meant(const SparseKind& kind, const uint32_t* metadata, BadChunk& bad) {
    for (unsigned row = 0; row < ROWS; ++row)
        for (unsigned chunk = 0; chunk < chunks_of(kind.kept); ++chunk) {
            const Place place = place_of(kind, row, chunk);
            bad = {row, chunk, place.lane, metadata[place.lane] >> place.shift & 15};
            if (!is_legal(kind, bad.bits)) return false;
        }
    return true;
}

} // namespace

unsigned chunks_of(const MmaKind& kept) {
    const unsigned bits = bits_of(kept, kept.a);
    return kept.k / (bits == 32 ? 1u : bits == 4 ? 4u : 2u);
}

bool mma_sparse(const SparseKind& kind, const MmaModel* model, Planes a, Planes b, Planes c, PlanesOut d,
                const uint32_t* metadata, const MmaScales* scales, BadChunk& bad) {
    if (!is_meant(kind, metadata, bad)) return false;
    uint32_t picked[4][LANES], product[4][LANES], out[4][LANES];
    const uint32_t* const of_row[] = {picked[0], picked[1], picked[2], picked[3]};
    uint32_t* const into[] = {product[0], product[1], product[2], product[3]};
    const bool tiles = kind.kept.a <= MmaInput::f16 && is_tile(*model);
    const TileFunction tile = tiles ? best_tile(kind.kept.k, kind.kept.a, kind.kept.output) : nullptr;
    for (unsigned row = 0; row < ROWS; ++row) {
        pick_rows(kind, row, b, metadata, picked);
        tiles ? tile(a, of_row, c, into) : mma_any(kind.kept, model, a, of_row, c, into, scales);
        keep_row(kind.kept, row, product, out);
    }
    for (unsigned i = 0; i < registers_of_c(kind.kept); ++i) std::memcpy(d[i], out[i], sizeof out[i]);
    return true;
}

} // namespace emu::num

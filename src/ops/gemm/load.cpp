// SPDX-License-Identifier: Apache-2.0
// How a kernel cuts a product into blocks, and what these do: for the plan and for the choice of the kernel.
#include <algorithm>
#include <bit>

#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr int64_t MOST_PARTS = kernels::gemm_merge__8x256.PARTS;

// Sections of so many tile rows are walked column by column. b comes from memory once a section where L2 cannot hold
// it.
uint64_t memory_bytes(const Work& work, const Gemm& p, const Row& row, const GemmCut& cut) {
    if (work.bytes / static_cast<uint64_t>(p.batch) <= work.target->l2_bytes) return work.bytes;
    auto sections = static_cast<uint64_t>(ceil_div(ceil_div(p.m, row.tile.rows), cut.group));
    uint64_t of_b = static_cast<uint64_t>(p.n) * static_cast<uint64_t>(p.k) * static_cast<uint64_t>(p.batch) * 2, again;
    return __builtin_mul_overflow(of_b, sections - 1, &again) || __builtin_add_overflow(again, work.bytes, &again)
               ? UINT64_MAX
               : again;
}

void load_of(const Work& work, const Row& row, const GemmCut& cut, Load& load) {
    const Gemm& p = work.as<Gemm>();
    const Tile& tile = row.tile;
    load.blocks = cut.tiles * p.batch * cut.parts;
    load.steps = load.longest = ceil_div(cut.part, tile.depth);
    load.bytes = memory_bytes(work, p, row, cut);
    load.launches = cut.parts > 1 ? 2 : 1;
    load.merged = cut.parts > 1 ? static_cast<uint64_t>(cut.parts * p.m * p.n) * 2 * sizeof(float) : 0;
    load.stages = tile.stages, load.syncs = tile.syncs;
    load.written = tile.rows * tile.columns * static_cast<uint32_t>(sizeof(float));
    load.step = tile.step;
    if (tile.splits) return;
    // Where warps share k, they load only the k that there is.
    auto part = static_cast<uint32_t>(ceil_div(cut.part, std::max<int64_t>(load.steps, 1)));
    for (uint32_t* count : {&load.step.products, &load.step.fetched, &load.step.issued}) {
        *count = static_cast<uint32_t>(uint64_t{*count} * part / tile.depth);
    }
}

int64_t price_of(const Work& work, const Row& row, const GemmCut& cut) {
    Load load;
    load_of(work, row, cut, load);
    return cost(*work.target, work.target->fits[row.fit], work.target->resident[row.kernel->index], load);
}

// The cut whose parts of k fill the device, if that costs less than the whole.
GemmCut with_parts(const Work& work, const Row& row, const GemmCut& whole) {
    const Gemm& p = work.as<Gemm>();
    int64_t slots = int64_t{work.target->sms} * work.target->resident[row.kernel->index];
    int64_t parts = std::min({slots / whole.tiles, ceil_div(p.k, row.tile.depth), MOST_PARTS});
    if (!row.tile.splits || p.batch != 1 || p.batch_invariant || parts < 2) return whole;
    GemmCut cut = whole;
    cut.part = ceil_div(ceil_div(p.k, parts), row.tile.depth) * row.tile.depth;
    cut.parts = ceil_div(p.k, cut.part);
    return cut.parts > 1 && price_of(work, row, cut) < price_of(work, row, whole) ? cut : whole;
}

} // namespace

GemmCut cut_gemm(const Work& work, const Row& row) {
    const Gemm& p = work.as<Gemm>();
    int64_t across = ceil_div(p.n, row.tile.columns), down = ceil_div(p.m, row.tile.rows);
    int64_t slots = int64_t{work.target->sms} * work.target->resident[row.kernel->index];
    // A square of c and d is what a wave reads least for: rows of tiles by columns, in elements.
    uint64_t square = static_cast<uint64_t>(std::max<int64_t>(slots * row.tile.columns / row.tile.rows, 1));
    uint32_t group = 1u << (static_cast<uint32_t>(std::bit_width(square)) / 2);
    return with_parts(work, row, {across * down, p.k, 1, group});
}

void load_gemm(const Work& work, const Row& row, Load& load) { load_of(work, row, cut_gemm(work, row), load); }

} // namespace spark

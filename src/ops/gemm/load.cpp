// SPDX-License-Identifier: Apache-2.0
// How a kernel cuts a product into blocks, and what these do: for the plan and for the choice of the kernel.
#include <algorithm>
#include <bit>

#include "core/divide.h"
#include "dispatch/raster.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

constexpr int64_t MOST_PARTS = 8;

// Blocks that the device holds at a time.
int64_t slots_of(const CheckedOp& work, const Row& row) {
    return int64_t{work.target->sms} * work.target->resident[row.kernel->index];
}

// Sections of so many tile rows are walked column by column. b comes from memory once a section where L2 cannot hold
// it.
uint64_t memory_bytes(const CheckedOp& work, const Gemm& p, const Row& row) {
    if (quotient(work.bytes, static_cast<uint64_t>(p.batch)) <= work.target->l2_bytes) return work.bytes;
    auto sections = static_cast<uint64_t>(ceil_div(ceil_shift(p.m, row.tile.rows), gemm_group(work, row)));
    uint64_t of_b = p.elem_bits * static_cast<uint64_t>(p.n) * static_cast<uint64_t>(p.k) / 8;
    if (p.kept.on) of_b = of_b / 16 * 9;
    of_b *= static_cast<uint64_t>(p.batch);
    uint64_t again;
    return __builtin_mul_overflow(of_b, sections - 1, &again) || __builtin_add_overflow(again, work.bytes, &again)
               ? UINT64_MAX
               : again;
}

// Elements are read and written once more. A block turns 64 x 64 of them, for which an SM needs so many clocks.
void load_moved(const Gemm& p, Load& load) {
    constexpr int64_t ELEMENTS_A_BLOCK = 64 * 64, A_BLOCK = 800;
    const int64_t elements = moved_elements(p);
    load.launches += p.moved.a + p.moved.b;
    if (p.a_blocks.data != 0) { // codes become bytes: a unit of 16 for each lane of a warp, in so many clocks
        constexpr int64_t A_WARP = 16 * 32, CLOCKS = 100;
        load.merged += static_cast<uint64_t>(elements) * 2;
        load.later = elements / A_WARP * CLOCKS;
        return;
    }
    load.merged += static_cast<uint64_t>(elements) * 2 * sizeof(float);
    load.later = elements / ELEMENTS_A_BLOCK * A_BLOCK;
}

void load_cut(const Gemm& p, const Row& row, const GemmCut& cut, Load& load) {
    const bool sums = (cut.parts > 1 && !joins(p, row.tile, cut)) || gates_by_sums(p, row.tile); // go to the workspace
    load.blocks = cut.tiles * p.batch * cut.parts;
    load.steps = load.longest = ceil_shift(cut.part, row.tile.depth);
    // Of several products one for each or, where their number may be any, one a part.
    const int64_t before = cut.parts == 1 || p.batch == 1 ? 1 : p.parts == 0 ? p.batch : cut.parts;
    load.launches = !sums ? 1 : static_cast<uint32_t>(before) + 1;
    load.later = 0;
    load.merged = sums ? static_cast<uint64_t>(cut.parts * p.batch * p.m * p.n) * 2 * sizeof(float) : 0;
    const bool widens = p.a_blocks.data != 0 && row.num_then == 1;
    if (row.num_then < 2 && !widens) return; // the merge's, and what moves an operand before: table.inc
    if (p.moved.any()) return load_moved(p, load);
    if (!p.weights) return;
    // b is unpacked: written and read once more than as it is stored, at four sevenths of the speed of memory. A
    // block unpacks elements of one row, for which an SM needs so many clocks.
    constexpr uint32_t ELEMENTS_A_BLOCK = 2048;
    constexpr int64_t AN_UNPACK = 180;
    ++load.launches;
    const int64_t rows = gemm_unpacked(p) * p.n;
    // Of tiles that join, `merged` is fitted to what joins, which costs a third.
    const uint32_t thirds = row.tile.joins ? 3 : 1;
    load.merged += static_cast<uint64_t>(rows * p.k) * p.elem_bits * 7 / 16 * thirds;
    load.later = std::min(rows * ceil_shift(p.k, ELEMENTS_A_BLOCK), INT64_MAX / AN_UNPACK) * AN_UNPACK;
}

// What comes through L2 for a step: more of an operand whose rows begin inside sectors.
uint32_t fetched(const Gemm& p, const Tile& tile) {
    constexpr int64_t SECTOR_BITS = 256;
    const auto inside = [&](int64_t ld) { return ld % SECTOR_BITS * p.elem_bits % SECTOR_BITS != 0; };
    const bool a = !p.moved.a && inside(p.lda), b = !p.moved.b && !p.weights && inside(p.ldb);
    if (!a && !b) return tile.step.fetched;
    const uint32_t rows = (a ? uint32_t{tile.rows} : 0) + (b ? uint32_t{tile.columns} : 0);
    constexpr uint32_t PERCENT = 100;
    return tile.step.fetched + tile.step.fetched / (tile.rows + tile.columns) * rows * tile.inside / PERCENT;
}

// Tiles that reach beyond the columns of d take twice as long to store it: lanes without columns look at each of them.
void load_results(const Gemm& p, const Tile& tile, Load& load) {
    load.written = tile.rows * tile.columns * static_cast<uint32_t>(sizeof(float));
    load.late = 0;
    if (tile.filled == 0 || (p.n & (tile.columns - 1)) == 0) return;
    const auto on_average = static_cast<uint32_t>(quotient(int64_t{load.written}, ceil_shift(p.n, tile.columns)));
    load.late = load.written - on_average;
    load.written += on_average;
}

void load_whole(const CheckedOp& work, const Row& row, const GemmCut& whole, Load& load) {
    const Gemm& p = work.as<Gemm>();
    const Tile& tile = row.tile;
    load_cut(p, row, whole, load);
    load.bytes = memory_bytes(work, p, row);
    load.stages = tile.stages, load.filled = tile.filled, load.syncs = tile.syncs, load.rounds = tile.rounds;
    load_results(p, tile, load);
    load.step = tile.step;
    load.step.fetched = fetched(p, tile);
    load.cost = 0;
    if (tile.syncs == 0) return;
    // Where warps share k, they load only the k and the rows that there are.
    auto part = static_cast<uint32_t>(ceil_div(whole.part, std::max<int64_t>(load.steps, 1)));
    for (uint32_t* count : {&load.step.products, &load.step.fetched, &load.step.issued}) {
        *count = static_cast<uint32_t>(uint64_t{*count} * part >> std::countr_zero<uint32_t>(tile.depth));
    }
    const auto rows = static_cast<uint32_t>(ceil_div(p.m, ceil_shift(p.m, tile.rows)));
    load.step.fetched -= (tile.rows - rows) * part * p.elem_bits / 8;
}

// k in so many parts, or in fewer where steps do not divide.
GemmCut in_parts(const Gemm& p, uint32_t step, const GemmCut& whole, int64_t parts) {
    GemmCut cut = whole;
    cut.part = ceil_shift(ceil_div(p.k, parts), step) * step;
    cut.parts = ceil_div(p.k, cut.part);
    return cut;
}

// Parts are multiples of this: of a step and, of codes as they are stored, of what scales are told apart by.
uint32_t step_of_parts(const Gemm& p, const Row& row) {
    const uint32_t step = row.tile.depth, group = uint32_t{1} << p.b_groups.shift;
    if (row.num_then > 1) return step;
    return std::max({step, group, p.b_blocked ? static_cast<uint32_t>(p.b_span) : 1});
}

// Whether each of several products may have a launch of its own parts, and one more adds them: of few, with nothing
// before or behind them in the plan.
bool splits_alone(const Gemm& p) {
    constexpr int64_t MOST_PRODUCTS = 6;
    return p.batch >= 1 && p.batch <= MOST_PRODUCTS && !p.weights && !p.kept.on && !p.moved.any() &&
           !p.codes.amax_wanted && (!p.codes.on || p.codes.direct);
}

// What a cut costs; of several products their launches, one after the other, and then what adds all of them.
int64_t cost_of_parts(const Target& target, const Fit& fit, uint32_t resident, const Pace& pace, int64_t batch,
                      Load load) {
    if (batch == 1) return cost(target, fit, resident, pace, load);
    const uint64_t merged = load.merged;
    load.blocks = quotient(load.blocks, batch), load.bytes = quotient(load.bytes, static_cast<uint64_t>(batch));
    load.launches = 1, load.merged = 0;
    const int64_t one = cost(target, fit, resident, pace, load);
    load.launches = 2, load.merged = merged;
    const int64_t last = cost(target, fit, resident, pace, load);
    // And a tenth of that: what launches in a row take was fitted to two of them.
    int64_t all;
    return __builtin_mul_overflow(one, batch - 1, &all) || __builtin_add_overflow(all, last, &all) ||
                   __builtin_add_overflow(all, quotient(all, int64_t{10}), &all)
               ? INT64_MAX
               : all;
}

// The whole, or as many parts as give each SM one block, or two, and so on: what costs least. And what it does.
GemmCut cut_and_load(const CheckedOp& work, const Row& row, Load& load) {
    const Gemm& p = work.as<Gemm>();
    const GemmCut whole = {ceil_shift(p.n, row.tile.columns) * ceil_shift(p.m, row.tile.rows), p.k, 1};
    load_whole(work, row, whole, load);
    const Target& target = *work.target;
    const uint32_t resident = target.resident[row.kernel->index];
    const int64_t most = std::min(ceil_shift(p.k, row.tile.depth), MOST_PARTS);
    if (!row.tile.splits || p.parts == 1) return whole;
    if (p.parts != 0) {
        const GemmCut fixed = in_parts(p, GEMM_PART_STEP, whole, p.parts);
        load_cut(p, row, fixed, load);
        return fixed;
    }
    if (p.batch != 1 && !splits_alone(p)) return whole;
    if (p.batch * whole.tiles * 2 > slots_of(work, row)) return whole;
    const Fit& fit = target.fits[row.fit];
    const Pace pace = find_pace(target, fit, load);
    GemmCut best = whole;
    load.cost = cost(target, fit, resident, pace, load);
    for (uint32_t beside = 1; beside <= resident; ++beside) {
        const int64_t parts = std::min(quotient(int64_t{target.sms} * beside, whole.tiles), most);
        if (parts < 2) continue;
        const GemmCut cut = in_parts(p, step_of_parts(p, row), whole, parts);
        if (cut.parts == best.parts) continue;
        Load other = load;
        load_cut(p, row, cut, other);
        other.cost = cost_of_parts(target, fit, resident, pace, p.batch, other);
        if (other.cost < load.cost) best = cut, load = other;
        if (parts == most) break;
    }
    return best;
}

} // namespace

// A square of c and d is what a wave reads least for: rows of tiles by columns, in elements. Where the products of
// tensor cores would wait for memory then, as where it is slow and L2 small, another number may read less of that.
uint32_t gemm_group(const CheckedOp& work, const Row& row) {
    const int64_t slots = slots_of(work, row);
    const int64_t square = slots * row.tile.columns >> std::countr_zero<uint32_t>(row.tile.rows);
    const auto usual = 1u << (std::bit_width(static_cast<uint64_t>(std::max<int64_t>(square, 1))) / 2);
    const Gemm& p = work.as<Gemm>();
    const Target& target = *work.target;
    const int64_t down = ceil_shift(p.m, row.tile.rows), across = ceil_shift(p.n, row.tile.columns);
    if (down <= usual || p.weights || quotient(work.bytes, static_cast<uint64_t>(p.batch)) <= target.l2_bytes) {
        return static_cast<uint32_t>(usual);
    }
    const double of_k = static_cast<double>(p.k) * p.elem_bits / 8;
    const Raster raster = {down,
                           across,
                           slots,
                           of_k * row.tile.rows,
                           of_k * row.tile.columns * (p.kept.on ? 9.0 / 16 : 1),
                           static_cast<double>(target.l2_bytes)};
    // What comes in three quarters of the time of the products, less d, c and all else that is read or written once.
    constexpr double PART = 0.75, MIB = 1 << 20, A_TICK = 64;
    const auto steps =
        static_cast<double>(ceil_shift(p.k, row.tile.depth)) * static_cast<double>(down) * static_cast<double>(across);
    const uint32_t product = row.tile.step.full_rate ? target.full_product : target.product;
    const double ticks = steps * row.tile.step.products * product / A_TICK / target.sms;
    const double once =
        static_cast<double>(work.bytes) / static_cast<double>(p.batch) - static_cast<double>(p.m + p.n) * of_k;
    return raster_group(raster, static_cast<uint32_t>(usual), ticks * PART / target.memory * MIB - std::max(once, 0.0));
}

GemmCut cut_gemm(const CheckedOp& work, const Row& row) {
    Load ignored;
    return cut_and_load(work, row, ignored);
}

void load_gemm(const CheckedOp& work, const Row& row, Load& load) { cut_and_load(work, row, load); }

} // namespace spark

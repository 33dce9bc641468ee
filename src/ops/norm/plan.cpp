// SPDX-License-Identifier: Apache-2.0
// RowNorm and a kernel -> Plan; and the entries of rmsnorm, l2norm and layernorm, which share problem, kernels, plan.
#include "ops/common/row_load.h"
#include "ops/norm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

template <class Of> consteval Tile tile_of(const Of& kernel) { return row_tile(kernel); }

// stages: its rows are on their way while those before are made.
consteval Tile tile_of(const kernels::norm_cut_kernel&) { return {.rows = 1, .stages = 1}; }

// columns: what a warp of a block's teams takes in one turn.
template <class Of> consteval Tile coded_tile(const Of& kernel, uint32_t a_warp, uint32_t an_element) {
    const uint32_t warps = kernel.block / 32, turn = 32 * kernel.RUN * kernel.CHUNKS;
    return {.rows = warps,
            .columns = turn,
            .syncs = 1,
            .step = {.issued = warps * (a_warp + an_element * kernel.RUN * kernel.CHUNKS)}};
}

// Kernels that take single elements cost more than any other, whatever the rows are: which one a row gets, and so the
// order of its sums, follows from N and places alone.
consteval Tile tile_of(const kernels::norm_codes_kernel& kernel) {
    return coded_tile(kernel, kernel.STEP == 1 ? 2400 : 300, 28);
}

consteval Tile tile_of(const kernels::norm_codes_kept_kernel& kernel) { return coded_tile(kernel, 100, 16); }

static_assert(turn_of(kernels::norm_codes__x8) == 2 * HALF_TURN && kernels::norm_codes__x8.block == 32 * CODED_WARPS);

// What kernels of both contracts are told: where rows are, and how they are normalised.
template <class Params> Params tensors_of(const RowNorm& p) {
    Params params{};
    params.x = p.x.data, params.y = p.y.data;
    params.weight = p.weight, params.bias = p.bias;
    params.residual = p.residual.data, params.residual_out = p.residual_out.data;
    params.x_stride0 = p.x.inner, params.x_stride1 = p.x.outer;
    params.y_stride0 = p.y.inner, params.y_stride1 = p.y.outer;
    params.residual_stride0 = p.residual.inner, params.residual_stride1 = p.residual.outer;
    params.residual_out_stride0 = p.residual_out.inner, params.residual_out_stride1 = p.residual_out.outer;
    params.eps = p.eps;
    return params;
}

template <class Flags> Flags asked(const RowNorm& p, Flags flags = {}) {
    const auto asks = [&](uint32_t flag) { return uint32_t{(p.flags & flag) != 0}; };
    flags.weight_f32 = p.weight_f32, flags.bias_f32 = p.bias_f32, flags.centre = p.centre;
    flags.normalize_rounded = asks(SPARK_RMSNORM_NORMALIZE_ROUNDED);
    flags.round_before_weight = asks(SPARK_RMSNORM_ROUND_BEFORE_WEIGHT);
    flags.weight_plus_one = asks(SPARK_RMSNORM_WEIGHT_PLUS_ONE);
    return flags;
}

template <class Params = kernels::norm_params, class Flags = kernels::norm_flags> Params params_of(const RowNorm& p) {
    auto params = tensors_of<Params>(p);
    params.n = p.n, params.rows0 = p.rows0, params.rows1 = p.rows1;
    params.scale = p.scale;
    params.flags = asked<Flags>(p);
    return params;
}

// Kernels that ask ahead have as many blocks as the device holds, so that each has rows to ask for.
void plan(const CheckedOp& work, const Row& row, const kernels::norm_kernel& kernel, Plan& calls) {
    const RowNorm& p = work.as<RowNorm>();
    const int64_t blocks = row_blocks(row, p.rows0 * p.rows1);
    const int64_t held = held_blocks(*work.target, row);
    auto params = params_of(p);
    params.soon = static_cast<uint32_t>(held * kernel.block / kernel.LANES);
    calls.add(kernel, params, kernel.AHEAD ? std::min(blocks, held) : blocks);
}

void plan(const CheckedOp& work, const Row&, const kernels::norm_loop_kernel& kernel, Plan& calls) {
    calls.add(kernel, params_of(work.as<RowNorm>()));
}

// Rows that a block of norm.cut has at a time: as many as there is room for beside the weight, each with its sums and
// two places, or as there are. Its warps are shared out among them.
int64_t rows_together(const RowNorm& p, const Row& row, int64_t blocks) {
    constexpr int64_t SUMS = 1152, CHUNK = 16, PLANES = 8 * 4;
    const int64_t units = ceil_div(p.n, int64_t{8}), planes = PLANES * ((units + 28) / 32 * 32 + 4);
    const int64_t room = (row.kernel->smem - planes) / (SUMS + 2 * CHUNK * (units + 4));
    return std::min({room, int64_t{row.kernel->block / 32}, ceil_div(p.rows0 * p.rows1, blocks)});
}

int64_t blocks_held(const CheckedOp& work, const Row& row, const RowNorm& p) {
    return std::min(p.rows0 * p.rows1, held_blocks(*work.target, row));
}

void plan(const CheckedOp& work, const Row& row, const kernels::norm_cut_kernel& kernel, Plan& calls) {
    const RowNorm& p = work.as<RowNorm>();
    const int64_t blocks = blocks_held(work, row, p), together = rows_together(p, row, blocks);
    auto params = params_of<kernels::norm_cut_params, kernels::norm_cut_flags>(p);
    params.rows_together = static_cast<uint32_t>(together);
    params.warps_together =
        static_cast<uint32_t>(std::min(kernel.block / 32 / together, ceil_div(p.n, int64_t{8 * 96})));
    calls.add(kernel, params, blocks);
}

void plan(const CheckedOp& work, const Row& row, const kernels::norm_codes_kernel& kernel, Plan& calls) {
    const RowNorm& p = work.as<RowNorm>();
    auto params = tensors_of<kernels::norm_codes_params>(p);
    const int64_t size = number_bytes(p.codes);
    params.x_stride0 *= size, params.x_stride1 *= size;
    params.residual_stride0 *= size, params.residual_stride1 *= size;
    params.residual_out_stride0 *= size, params.residual_out_stride1 *= size;
    params.sum_scale = p.scale;
    params.flags = asked(p, put_team<kernels::norm_codes_flags>(p.codes, p.kind, kernel, params));
    const int64_t blocks = put_blocks(kernel, held_blocks(*work.target, row), params);
    calls.add(kernel, params, blocks);
}

void plan(const CheckedOp& work, const Row& row, const kernels::norm_codes_kept_kernel& kernel, Plan& calls) {
    const RowNorm& p = work.as<RowNorm>();
    const int64_t size = number_bytes(p.codes), rows = p.rows0, turns = ceil_div(p.n, turn_of(kernel));
    const uint32_t team = team_of(turns, kernel), teams = kernel.block / 32 / team;
    const int64_t blocks = std::min(ceil_div(rows, int64_t{teams}), held_blocks(*work.target, row));
    const uint32_t codes = p.codes.codes;
    calls.add(kernel,
              {.x = p.x.data,
               .weight = p.weight,
               .bias = p.bias,
               .y = p.y.data,
               .scale = p.codes.scale.data,
               .whole = p.kind.whole,
               .x_stride0 = static_cast<uint32_t>(p.x.inner * size),
               .y_stride0 = static_cast<uint32_t>(p.y.inner),
               .scale_line = static_cast<uint32_t>(p.codes.scale.row * p.kind.scale_bytes),
               .n = static_cast<uint32_t>(p.n),
               .numbers = static_cast<uint32_t>(rows),
               .number_step = static_cast<uint32_t>(blocks * teams),
               .team = team,
               .scale_four = p.codes.scale.four,
               .scale_step = p.codes.scale.step,
               .n_scaled = p.n,
               .amax_floor = p.codes.amax_floor,
               .largest = largest_code(codes),
               .bump = p.codes.bump,
               .eps = p.eps,
               .sum_scale = p.scale,
               .columns = static_cast<float>(p.n),
               .flags = kernels::norm_codes_kept_flags{.i8 = codes == SPARK_DTYPE_I8,
                                                       .e5m2 = codes == SPARK_DTYPE_E5M2,
                                                       .centre = p.centre,
                                                       .blocks = p.kind.blocks,
                                                       .powers = p.kind.powers}},
              blocks);
}

// Teams of a block make a row each at a time; a row that is longer than one turn of theirs is walked over again.
void load_codes(const CheckedOp& work, const Row& row, const RowNorm& p, Load& load) {
    const int64_t turns = ceil_div(p.codes.n_scaled, int64_t{row.tile.columns});
    const uint32_t team = team_of(turns, row.tile.rows);
    load_rows(work, row, p.rows0 * p.rows1 * team, p.n, load);
    load.steps = turns <= team ? 1 : 3 * ceil_div(turns, int64_t{team});
    load.longest = load.steps;
}

// A block of norm.cut goes on from rows to rows; what a row takes of it, from three widths.
void load_ahead(const CheckedOp& work, const Row& row, const RowNorm& p, Load& load) {
    constexpr int64_t A_ROW = 450, A_UNIT = 8;
    const int64_t blocks = blocks_held(work, row, p), together = rows_together(p, row, blocks);
    load_rows(work, row, p.rows0 * p.rows1, p.n, load);
    load.blocks = blocks;
    load.steps = ceil_div(p.rows0 * p.rows1, blocks * together);
    load.longest = load.steps;
    load.step.issued = static_cast<uint32_t>(together * (A_ROW + A_UNIT * ceil_div(p.n, int64_t{8})));
}

void load(const CheckedOp& work, const Row& row, Load& load) {
    const RowNorm& p = work.as<RowNorm>();
    if (p.coded) return load_codes(work, row, p, load);
    if (row.tile.stages != 0) return load_ahead(work, row, p, load);
    load_rows(work, row, p.rows0 * p.rows1, p.n, load);
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/norm/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, NORM_FACT_NAMES>();

} // namespace

extern const Operator RMSNORM = {SPARK_OP_RMSNORM, TABLE, NORM_FACT_NAMES, check_rmsnorm, load, true, true};
extern const Operator L2NORM = {SPARK_OP_L2NORM, TABLE, NORM_FACT_NAMES, check_l2norm, load, true, true};
extern const Operator LAYERNORM = {SPARK_OP_LAYERNORM, TABLE, NORM_FACT_NAMES, check_layernorm, load, true, true};

} // namespace spark

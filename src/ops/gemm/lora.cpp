// SPDX-License-Identifier: Apache-2.0
// All of lora: spark_lora_args -> Lora, Lora and a kernel -> Plan, its rows, and the operator's entry in the list.
// Shares with the family the names of facts alone.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/divide.h"
#include "ops/common/rows.h"
#include "ops/gemm/fields.h"
#include "spark_kernels.h"

namespace spark {
namespace {

using namespace lora_field;

// What kernels hold sums of, and what they count in 32 bits.
constexpr int64_t MOST_RANK = 256, MOST_LONG = int64_t{1} << 30, MOST_ADAPTERS = INT32_MAX;

struct Lora {
    RowTensor x, c, y, a, b; // outer: from an adapter to the next, 0 where there is one
    spark_devptr index;
    int64_t m, n, k, rank, adapters;
    float scale;
};

RowTensor rows_of(const View& v) {
    if (!v.present) return {};
    return {v.data, 0, v.shape[0] > 1 ? v.stride[0] : 0};
}
RowTensor adapters_of(const View& v) {
    return {v.data, v.shape[0] > 1 ? v.stride[0] : 0, v.shape[1] > 1 ? v.stride[1] : 0};
}

spark_status check_sizes(const ValidatedArgs& bound, const Lora& p, Report& report) {
    const struct {
        uint32_t field;
        const char* name;
        int64_t size, most;
    } sizes[] = {{A, "R", p.rank, MOST_RANK},
                 {X, "K", p.k, MOST_LONG},
                 {Y, "N", p.n, MOST_LONG},
                 {A, "L", p.adapters, MOST_ADAPTERS}};
    for (const auto& [field, name, size, most] : sizes) {
        if (size <= most) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field, "%s of %s is %lld; at most %lld wanted", name,
                                 bound.spec->fields[field].name, static_cast<long long>(size),
                                 static_cast<long long>(most));
    }
    return SPARK_OK;
}

void fill_facts(const ValidatedArgs& bound, const Lora& p, CheckedOp& work) {
    work.facts[GEMM_M] = p.m, work.facts[GEMM_N] = p.n, work.facts[GEMM_K] = p.k;
    work.facts[GEMM_BATCH] = p.adapters, work.facts[GEMM_RANK] = p.rank;
    work.facts[GEMM_X_ALIGN] = row_alignment(bound.view[X], p.x);
    work.facts[GEMM_A_ALIGN] = row_alignment(bound.view[A], p.a);
    work.facts[GEMM_B_ALIGN] = row_alignment(bound.view[B], p.b);
    // No more adapters are read than there are rows.
    const auto m = static_cast<uint64_t>(p.m), wide = static_cast<uint64_t>(p.k + p.n);
    const auto used = static_cast<uint64_t>(std::min(p.m, p.adapters)) * static_cast<uint64_t>(p.rank);
    work.flops = 2 * m * static_cast<uint64_t>(p.rank) * wide;
    work.bytes = 2 * (m * wide + (p.c.data != 0 ? m * static_cast<uint64_t>(p.n) : 0) + used * wide) + 4 * m;
}

} // namespace

spark_status check_lora(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_lora_args>();
    if (!std::isfinite(args.scale)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SCALE, "scale is %g; a finite number wanted",
                                 static_cast<double>(args.scale));
    }
    const View &x = bound.view[X], &a = bound.view[A], &y = bound.view[Y];
    Lora& p = work.as<Lora>();
    p = {.x = rows_of(x),
         .c = rows_of(bound.view[C]),
         .y = rows_of(y),
         .a = adapters_of(a),
         .b = adapters_of(bound.view[B]),
         .index = bound.view[INDEX].data,
         .m = y.shape[0],
         .n = y.shape[1],
         .k = x.shape[1],
         .rank = a.shape[1],
         .adapters = a.shape[0],
         .scale = args.scale};
    constexpr Contract BF16 = "lora_bf16", F16 = "lora_f16";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : F16;
    work.empty = y.count == 0;
    if (spark_status s = check_sizes(bound, p, report)) return s;
    fill_facts(bound, p, work);
    return SPARK_OK;
}

namespace {

constexpr uint32_t WARP = 32;
constexpr int64_t MOST_CLUSTERS = int64_t{1} << 27;

uint32_t slice(int64_t length, uint32_t parts, uint32_t unit) {
    return static_cast<uint32_t>(ceil_div(length, int64_t{parts} * unit)) * unit;
}

// step: elements of an access; parts: blocks that share a row.
kernels::lora_params params_of(const Lora& p, uint32_t step, uint32_t parts) {
    const auto units = static_cast<uint32_t>(ceil_div(p.rank, int64_t{step}));
    const uint32_t team = std::bit_ceil(std::clamp(units, 1u, WARP));
    return {
        .x = p.x.data,
        .a = p.a.data,
        .b = p.b.data,
        .index = p.index,
        .c = p.c.data,
        .y = p.y.data,
        .x_stride = p.x.inner,
        .a_stride0 = p.a.inner,
        .a_stride1 = p.a.outer,
        .b_stride0 = p.b.inner,
        .b_stride1 = p.b.outer,
        .c_stride = p.c.inner,
        .y_stride = p.y.inner,
        .m = p.m,
        .n = static_cast<uint32_t>(p.n),
        .k = static_cast<uint32_t>(p.k),
        .n_slice = slice(p.n, parts, 1),
        .k_slice = slice(p.k, parts, step),
        .rank = static_cast<uint32_t>(p.rank),
        .adapters = static_cast<uint32_t>(p.adapters),
        .team_shift = static_cast<uint32_t>(std::countr_zero(team)),
        .scale = p.scale,
    };
}

void plan(const CheckedOp& work, const Row&, const kernels::lora_kernel& kernel, Plan& calls) {
    const Lora& p = work.as<Lora>();
    calls.add(kernel, params_of(p, kernel.STEP, kernel.CL), kernel.CL * std::min(p.m, MOST_CLUSTERS));
}
void plan(const CheckedOp& work, const Row&, const kernels::lora_tiles_kernel& kernel, Plan& calls) {
    calls.add(kernel, params_of(work.as<Lora>(), kernel.STEP, 1));
}

// Rows of y, a block or so many of a cluster; depth: elements of an access.
consteval Tile tile_of(const kernels::lora_kernel& k) { return {.rows = 1, .columns = k.CL, .depth = k.STEP}; }
consteval Tile tile_of(const kernels::lora_tiles_kernel& k) { return {.rows = 16, .columns = 1, .depth = k.STEP}; }

// Which adapters the rows have only the device knows: a tile's are taken to differ, and each is a pass over k and n
// whose loads wait for each other. What warps issue: places, then products one by one; of tiles those over k are the
// tensor cores'.
void load_lora(const CheckedOp& work, const Row& row, Load& load) {
    constexpr int64_t PLACES = 3000, OF_TILE = 64, MOST_ROWS = int64_t{1} << 50;
    const int64_t* const facts = work.facts;
    const int64_t n = facts[GEMM_N], k = facts[GEMM_K], rank = facts[GEMM_RANK];
    const int64_t rows = row.tile.rows, blocks = row.tile.columns, products = rows * rank * (k + n);
    const int64_t bytes = 2 * (rows * (k + 2 * n) + rank * (k + n));
    const auto a_block = [&](int64_t all) {
        return static_cast<uint32_t>(std::min<int64_t>(ceil_div(all, blocks), UINT32_MAX));
    };
    load = {};
    load.blocks = ceil_div(std::min(facts[GEMM_M], MOST_ROWS), rows) * blocks;
    load.steps = load.longest = std::clamp<int64_t>(facts[GEMM_BATCH], 1, rows);
    load.bytes = work.bytes;
    load.launches = 1;
    load.step.fetched = a_block(bytes);
    load.step.issued = a_block(PLACES * blocks + products / (rows == 1 ? int64_t{row.tile.depth} : OF_TILE));
    if (rows > 1) load.step.turns = static_cast<uint32_t>(std::min<int64_t>((k + n) * (32 + rank) / 160, UINT32_MAX));
}

PLAN_OF_ROWS

//   kernel, because
#define LORA_ROWS_OF(T)                                                                          \
    ROW(lora_##T##__8x4, "few rows, or a high rank: most is on its way of a block")              \
    ROW(lora_##T##__8x2, "more rows: four blocks on an SM wait for each other's loads")          \
    ROW(lora_##T##__16x16, "neighbours that share an adapter: it is read once for sixteen rows") \
    ROW(lora_##T##__16x64, "the same, of higher ranks")                                          \
    ROW(lora_##T##__generic, "one element an access; legal for every shape")
constexpr Draft DRAFTS[] = {LORA_ROWS_OF(bf16) LORA_ROWS_OF(f16)};
constexpr auto TABLE = make_table<DRAFTS, GEMM_FACT_NAMES>();

} // namespace

extern const Operator LORA = {SPARK_OP_LORA, TABLE, GEMM_FACT_NAMES, check_lora, load_lora, true};

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Attention and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>
#include <bit>

#include "core/divide.h"
#include "ops/attention/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// rows: queries of a head, or of all heads that share keys where these are split; columns: of the sums; depth: keys.
consteval Tile tile_of(const Kernel& kernel) {
    constexpr uint32_t WARP = 32, ELEM = 2, PRODUCT = 16 * 8 * 16, FRAGMENT_LOAD = 512, COPY = 16, A_COPY = 7;
    constexpr uint32_t A_SCORE = 8, PLAIN_QUERIES = 64;
    const auto constant = [&](const char* name) { return static_cast<uint32_t>(kernel.constant(name)); };
    uint32_t width = constant("D"), warps = kernel.block / WARP, split = constant("ROWS"), own = constant("W");
    if (width == 0) { // a warp a query, a key at a time
        return {PLAIN_QUERIES, 0, 1, 1, 0, false, 0, {0, 0, 0, PLAIN_QUERIES * 50}};
    }
    // With W each warp has keys of its own and all queries, else queries of its own and all keys.
    uint32_t rows = split != 0 ? split : 64 * constant("MF"), keys = own != 0 ? 16 * own : 32 * constant("NK");
    uint32_t products = 2 * rows * keys * width / PRODUCT, fetched = 2 * keys * width * ELEM;
    uint32_t queries = constant("HELD") != 0 ? 0 : rows * width * ELEM * (own != 0 ? warps : 1);
    uint32_t read = fetched * (own != 0 ? 1 : warps) + queries;
    uint32_t issued = products + read / FRAGMENT_LOAD + rows * keys / WARP * A_SCORE + fetched / COPY / WARP * A_COPY;
    return {
        rows, width, keys, 1, split != 0, split != 0, constant("PART"), {products, read + fetched, fetched, issued}};
}

constexpr auto ROWS = make_table(
    {
#define ROW(kernel, because) make_row(kernels::kernel, because, ATTENTION_FACT_NAMES),
#include "ops/attention/table.inc"
#undef ROW
    },
    tile_of);

// load.cpp shifts where it would divide.
static_assert([] {
    for (const Row& row : ROWS) {
        if (!std::has_single_bit(row.tile.rows) || !std::has_single_bit(row.tile.depth)) return false;
    }
    return true;
}());

constexpr float LOG2_E = 1.44269504f;
constexpr uint32_t CAUSAL = 1; // bit of the kernels' flags

kernels::attention_plain_params params_of(const Attention& p) {
    return {
        .q = p.q.data,
        .k = p.k.data,
        .v = p.v.data,
        .o = p.o.data,
        .lse = p.lse.data,
        .cu_q = p.cu_q,
        .cu_k = p.cu_k,
        .lens = p.lens,
        .q_seq = p.q.seq,
        .q_token = p.q.token,
        .q_head = p.q.head,
        .k_seq = p.k.seq,
        .k_token = p.k.token,
        .k_head = p.k.head,
        .v_seq = p.v.seq,
        .v_token = p.v.token,
        .v_head = p.v.head,
        .o_seq = p.o.seq,
        .o_token = p.o.token,
        .o_head = p.o.head,
        .lse_seq = p.lse.seq,
        .lse_token = p.lse.token,
        .lse_head = p.lse.head,
        .s = p.s,
        .t = p.t,
        .sq = p.sq,
        .seqs = p.seqs,
        .h = static_cast<uint32_t>(p.h),
        .hkv = static_cast<uint32_t>(p.hkv),
        .d = static_cast<uint32_t>(p.d),
        .scale = std::max(p.scale * LOG2_E, SMALLEST_SCALE),
        .flags = p.causal ? CAUSAL : 0,
        .group = static_cast<uint32_t>(p.group),
        .sums = 0,
        .states = 0,
        .parts = 1,
        .blocks = 0,
        .pitch = 0,
        .slots = 0,
    };
}

// The second launch, of one of the kernels attention_merge: it puts the parts of each row together.
void add_merge(const Attention& p, const Kernel& kernel, const kernels::attention_plain_params& parts, int64_t width,
               Plan& calls) {
    Launch& merge = calls.add(kernel);
    merge.grid[0] = static_cast<uint32_t>(p.seqs * p.sq * p.h);
    merge.grid[1] = static_cast<uint32_t>(ceil_div(p.d, kernel.constant("COLUMNS")));
    merge.grid[2] = 1;
    merge.set_params(kernels::attention_merge_params{
        .o = parts.o,
        .lse = parts.lse,
        .cu_q = parts.cu_q,
        .cu_k = parts.cu_k,
        .lens = parts.lens,
        .sums = parts.sums,
        .states = parts.states,
        .o_seq = parts.o_seq,
        .o_token = parts.o_token,
        .o_head = parts.o_head,
        .lse_seq = parts.lse_seq,
        .lse_token = parts.lse_token,
        .lse_head = parts.lse_head,
        .s = parts.s,
        .t = parts.t,
        .sq = parts.sq,
        .h = parts.h,
        .hkv = parts.hkv,
        .d = parts.d,
        .width = static_cast<uint32_t>(width),
        .group = parts.group,
        .blocks = parts.blocks,
        .parts = parts.parts,
        .pitch = parts.pitch,
        .slots = parts.slots,
        .flags = parts.flags,
    });
}

// The workspace holds two tables: `rows` rows of `width` sums, then their states.
void put_tables(int64_t rows, int64_t width, kernels::attention_plain_params& params, Plan& calls) {
    params.sums = calls.workspace;
    params.states = calls.workspace + static_cast<uint64_t>(rows * width) * sizeof(float);
    calls.workspace_size = static_cast<uint64_t>(rows * (width + 2)) * sizeof(float);
}

// What each of `blocks` blocks that make several parts keeps between them: RUNNING_BYTES of ptx/lib/tile/fold.ptxh.
void put_running(int64_t blocks, const Kernel& kernel, kernels::attention_plain_params& params, Plan& calls) {
    int64_t pairs = kernel.constant("MF") * (4 * kernel.constant("KS") + 2);
    params.sums = calls.workspace;
    calls.workspace_size = static_cast<uint64_t>(blocks * pairs * kernel.block) * 2 * sizeof(float);
}

// A block makes a part of the keys of a unit: the rows of some queries and the heads that share a key head.
void plan_split(const Attention& p, const Row& row, const AttentionCut& cut, Plan& calls) {
    int64_t width = row.tile.columns, rows = row.tile.rows, part = row.tile.part;
    kernels::attention_plain_params params = params_of(p);
    params.parts = static_cast<uint32_t>(cut.parts);
    params.blocks = static_cast<uint32_t>(cut.tiles);
    if (cut.parts > 1 && part == 0) {
        put_tables(cut.units * cut.parts * rows, width, params, calls);
    } else if (cut.parts > 1) {
        int64_t each = ceil_div(p.t, part), pitch = std::min(p.sq * p.group, rows);
        int64_t slots = p.packed_k ? p.t / part + p.seqs : p.seqs * each;
        params.pitch = static_cast<uint32_t>(pitch);
        params.slots = static_cast<uint32_t>(p.packed_k ? 0 : each);
        put_tables(slots * p.hkv * cut.tiles * pitch, width, params, calls);
    } else if (part != 0 && p.t > part) {
        put_running(cut.units, *row.kernel, params, calls);
    }
    Launch& launch = calls.add(*row.kernel);
    launch.grid[0] = static_cast<uint32_t>(cut.units * cut.parts);
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(params);
    if (cut.parts == 1) return;
    constexpr const Kernel* MERGES[2][2] = {
        {&kernels::attention_merge_bf16__row, &kernels::attention_merge_f16__row},
        {&kernels::attention_merge_bf16__parts, &kernels::attention_merge_f16__parts}};
    add_merge(p, *MERGES[part != 0][p.f16], params, width, calls);
}

// A block makes some queries of one head. The plain kernel's blocks step over such tiles; the others' limits keep them
// fewer than 2^31.
void plan_tiles(const Attention& p, const Row& row, const AttentionCut& cut, Plan& calls) {
    kernels::attention_plain_params params = params_of(p);
    if (p.batch_invariant && row.tile.part != 0 && p.t > row.tile.part) {
        put_running(cut.units, *row.kernel, params, calls);
    }
    Launch& launch = calls.add(*row.kernel);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(cut.units, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(params);
}

void plan(const Work& work, const Row& row, Plan& calls) {
    const Attention& p = work.as<Attention>();
    AttentionCut cut = cut_attention(work, row);
    row.tile.splits ? plan_split(p, row, cut, calls) : plan_tiles(p, row, cut, calls);
}

} // namespace

extern const Operator ATTENTION = {SPARK_OP_ATTENTION, ROWS, ATTENTION_FACT_NAMES,
                                   check_attention,    plan, load_attention};

} // namespace spark

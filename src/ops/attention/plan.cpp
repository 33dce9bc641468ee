// SPDX-License-Identifier: Apache-2.0
// Attention and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "ops/attention/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constexpr Row ROWS[] = {
#define ROW(kernel, prefer, because) make_row(kernels::kernel, prefer, because, ATTENTION_FACT_NAMES),
#include "ops/attention/table.inc"
#undef ROW
};

constexpr float LOG2_E = 1.44269504f;
constexpr uint32_t CAUSAL = 1; // bit of the kernels' flags

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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
        .scale = p.scale * LOG2_E,
        .flags = p.causal ? CAUSAL : 0,
        .group = static_cast<uint32_t>(p.hkv > 0 ? p.h / p.hkv : 0),
        .sums = 0,
        .states = 0,
        .parts = 1,
        .blocks = 0,
    };
}

constexpr int64_t PLAIN_QUERIES = 64; // of a head, a block of the plain kernel

// Where few queries meet many keys, blocks share the keys of a sequence. Enough parts that each SM of the largest chips
// has a few blocks; none has fewer than 128 keys. With batch invariance the number of parts is a matter of the keys.
constexpr int64_t ENOUGH_BLOCKS = 384, LEAST_KEYS = 128, INVARIANT_KEYS = 1024, MOST_PARTS = 256;

int64_t count_parts(const Attention& p, int64_t units) {
    int64_t wanted = p.batch_invariant ? ceil_div(p.sk, INVARIANT_KEYS) : ceil_div(ENOUGH_BLOCKS, units);
    return std::max<int64_t>(std::min({wanted, ceil_div(p.sk, LEAST_KEYS), MOST_PARTS}), 1);
}

// A block makes a part of the keys of one head; a second launch puts the parts of each row together.
void plan_split(const Attention& p, const Kernel& kernel, Plan& calls) {
    int64_t width = kernel.constant("D"), rows = kernel.constant("ROWS");
    int64_t blocks = ceil_div(p.sq * p.h / p.hkv, rows), units = p.seqs * p.hkv * blocks;
    int64_t parts = count_parts(p, units), part_rows = units * parts * rows;
    kernels::attention_plain_params params = params_of(p);
    params.parts = static_cast<uint32_t>(parts);
    params.blocks = static_cast<uint32_t>(blocks);
    if (parts > 1) {
        params.sums = calls.workspace;
        params.states = calls.workspace + static_cast<uint64_t>(part_rows * width) * sizeof(float);
        calls.workspace_size = static_cast<uint64_t>(part_rows * (width + 2)) * sizeof(float);
    }
    Launch& launch = calls.add(kernel);
    launch.grid[0] = static_cast<uint32_t>(units * parts);
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(params);
    if (parts == 1) return;
    const Kernel& row = p.f16 ? kernels::attention_merge_f16__row : kernels::attention_merge_bf16__row;
    Launch& merge = calls.add(row);
    merge.grid[0] = static_cast<uint32_t>(p.seqs * p.sq * p.h);
    merge.grid[1] = static_cast<uint32_t>(ceil_div(p.d, row.constant("COLUMNS")));
    merge.grid[2] = 1;
    merge.set_params(kernels::attention_merge_params{
        .o = params.o,
        .lse = params.lse,
        .cu_q = params.cu_q,
        .cu_k = params.cu_k,
        .lens = params.lens,
        .sums = params.sums,
        .states = params.states,
        .o_seq = params.o_seq,
        .o_token = params.o_token,
        .o_head = params.o_head,
        .lse_seq = params.lse_seq,
        .lse_token = params.lse_token,
        .lse_head = params.lse_head,
        .s = params.s,
        .t = params.t,
        .sq = params.sq,
        .h = params.h,
        .hkv = params.hkv,
        .d = params.d,
        .width = static_cast<uint32_t>(width),
        .group = params.group,
        .blocks = params.blocks,
        .parts = params.parts,
        .reserved = 0,
    });
}

// A block makes some queries of one head. The plain kernel's blocks step over such tiles; the others' limits keep them
// fewer than 2^31.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    if (kernel.constant("ROWS") != 0) return plan_split(p, kernel, calls);
    int64_t queries = 64 * kernel.constant("MF");
    int64_t tiles = p.seqs * p.h * ceil_div(p.sq, queries != 0 ? queries : PLAIN_QUERIES);
    Launch& launch = calls.add(kernel);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(tiles, INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(params_of(p));
}

constexpr uint32_t BATCH_FACTS = 1u << ATTENTION_SEQS | 1u << ATTENTION_ROWS | 1u << ATTENTION_TILES128;

} // namespace

extern const Operator ATTENTION = {SPARK_OP_ATTENTION, ROWS, ATTENTION_FACT_NAMES, BATCH_FACTS, check_attention, plan};

} // namespace spark

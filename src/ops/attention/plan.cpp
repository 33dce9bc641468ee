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
        .reserved = 0,
    };
}

constexpr int64_t PLAIN_QUERIES = 64; // of a head, a block of the plain kernel

// A block of the plain kernel makes some queries of one head; blocks step over such tiles.
void plan(const Work& work, const Kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    Launch& launch = calls.add(kernel);
    launch.grid[0] = static_cast<uint32_t>(std::min<int64_t>(p.seqs * p.h * ceil_div(p.sq, PLAIN_QUERIES), INT32_MAX));
    launch.grid[1] = launch.grid[2] = 1;
    launch.set_params(params_of(p));
}

constexpr uint32_t BATCH_FACTS = 1u << ATTENTION_SEQS | 1u << ATTENTION_ROWS | 1u << ATTENTION_TILES128;

} // namespace

extern const Operator ATTENTION = {SPARK_OP_ATTENTION, ROWS, ATTENTION_FACT_NAMES, BATCH_FACTS, check_attention, plan};

} // namespace spark

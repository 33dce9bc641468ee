// SPDX-License-Identifier: Apache-2.0
// The checked attention problem, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

namespace spark {

// Element (sequence, token, head) of a tensor is the sequence's token at data + sequence * seq + token * token + head *
// head, in elements. With a list of first tokens there is one row of tokens and seq is not used.
struct AttentionTensor {
    spark_devptr data; // 0 = absent
    int64_t seq, token, head;
};

struct Attention {
    AttentionTensor q, k, v, o, lse;
    spark_devptr cu_q, cu_k, lens; // 0 = absent
    int64_t s, t;                  // tokens of a row of q and of k: what lengths are clamped to
    int64_t sq, sk;                // bounds of the lengths
    int64_t seqs, h, hkv, d;
    int64_t group; // query heads of a key head, rounded down
    float scale;
    bool f16, causal, batch_invariant;
    bool packed_k; // a list says where the keys of a sequence begin
};

// Facts. group: query heads of a key/value head, 0 where they do not divide evenly. rows = seqs * h * sq.
// NAME_align: the largest power of two, at most 256, that divides the address and all strides in bytes.
enum AttentionFact : uint32_t {
    ATTENTION_SQ,
    ATTENTION_SK,
    ATTENTION_D,
    ATTENTION_H,
    ATTENTION_HKV,
    ATTENTION_GROUP,
    ATTENTION_SEQS,
    ATTENTION_ROWS,
    ATTENTION_S,
    ATTENTION_T,
    ATTENTION_Q_ALIGN,
    ATTENTION_K_ALIGN,
    ATTENTION_V_ALIGN,
    ATTENTION_O_ALIGN,
    ATTENTION_FACTS
};
constexpr const char* ATTENTION_FACT_NAMES[] = {"sq",   "sk", "d", "h",       "hkv",     "group",   "seqs",
                                                "rows", "s",  "t", "q_align", "k_align", "v_align", "o_align"};
static_assert(std::size(ATTENTION_FACT_NAMES) == ATTENTION_FACTS);

// How a row's kernel cuts the problem.
struct AttentionCut {
    int64_t units; // tiles of rows, over all heads and sequences
    int64_t tiles; // of them, of one key head; 0 where keys are not cut
    int64_t parts; // of the keys of each unit
};
AttentionCut cut_attention(const Work& work, const Row& row);
void load_attention(const Work& work, const Row& row, Load& load);

spark_status check_attention(const Bound& bound, Work& work, Report& report);

} // namespace spark

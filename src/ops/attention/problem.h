// SPDX-License-Identifier: Apache-2.0
// The checked attention problem.
#pragma once

#include "ops/attention/fields.h"
#include "ops/operator.h"

namespace spark {

// Element (sequence, token, head) of a tensor is the sequence's token at data + sequence * seq + token * token + head *
// head, in elements. With a list of first tokens there is one row of tokens and seq is not used.
struct AttentionTensor {
    spark_devptr data; // 0 = absent
    int64_t seq, token, head;
};

// Scales of blocks of tokens: how many tokens one has; sizes, and from one scale to the next in memory.
struct AttentionTokenBlocks {
    int64_t tokens; // 0: scales are of something else
    int64_t rows, count, heads;
    int64_t seq, step, head;
};
// Scales of F32, in scales from one to the next; of blocks of tokens as they are repeated for each token in the
// workspace. Blocks of UE4M3, likewise; step: along a row.
struct AttentionScales {
    spark_devptr data; // 0 = 1
    int64_t seq, token, head;
    AttentionTokenBlocks blocks;
};
struct AttentionBlocks {
    spark_devptr data;
    int64_t seq, token, head, step;
};
struct AttentionBias {
    spark_devptr data;                           // 0 = absent
    int64_t seq, head, query, key, tokens, keys; // tokens: of a row of them
};

// What the kernel for numbers of any type is told beside, and of scales others too; types as in
// ptx/lib/tile/attention/numbers.ptxh.
struct AttentionNumbers {
    bool wanted; // no other kernel takes them
    uint8_t q_type, k_type, v_type, o_type, bias_type;
    AttentionScales q_scale, k_scale, v_scale;
    AttentionBlocks q_blocks, k_blocks, v_blocks;
    AttentionBias bias;
    spark_devptr o_scale; // 0 = 1
    spark_devptr amax;    // 0 = absent
};

constexpr int64_t ALL_KEYS = int64_t{1} << 62;

struct Attention {
    AttentionTensor q, k, v, o, lse;
    spark_devptr cu_q, cu_k, lens, sinks, slopes, starts, ends, bits; // 0 = absent
    spark_devptr table, table_first, table_rest; // of a list of pages, the first of each sequence, tokens of the last
    int64_t words, bits_first; // of 64 bits a query; the key that the first bit is for, -1: where the queries begin
    int64_t table_seq, entries, pages, page; // entries: of the table; page: tokens of one
    int64_t s, t;                            // tokens of a row of q and of k: what lengths are clamped to
    int64_t sq, sk;                          // bounds of the lengths
    int64_t seqs, h, hkv, d, dv;             // d: of queries and keys; dv: of values and results
    int64_t group;                           // query heads of a key head, rounded down
    int64_t left, right;                     // keys before and behind its own that a query sees; ALL_KEYS: all
    float scale, cap;                        // cap: 0 = none
    AttentionNumbers numbers;
    uint32_t kv_bits, v_bits; // of an element of k, and of v where that has another type
    uint8_t q_coded;          // the fact
    bool f16;                 // the queries, or what their codes become
    bool by_token;            // scales of tokens, or of pages, are among those of FP8
    bool o_coded;             // results are codes, and of kernels that know one type
    bool batch_invariant;
    bool packed_k; // a list says where the keys of a sequence begin
    bool paged;    // k and v are [page, token, head], seq from page to page
};

// Types, scales and the bias; `packed`: a list of first tokens numbers the tokens of both dimensions. Sets by_token and
// o_coded; reads paged, batch_invariant.
spark_status check_numbers(const ValidatedArgs& bound, bool packed_q, bool packed_k, Attention& p, Report& report);

// Whether tokens or pages of k or v have scales of their own.
inline bool of_tokens(const Attention& p, const AttentionScales& x) { return x.token != 0 || (p.paged && x.seq != 0); }

// The largest power of two, at most 256, that divides address and strides in bytes.
int64_t alignment_of(const View& v);

// Keys that the queries of a sequence see between them, `rows` of them that stand side by side.
int64_t keys_seen(const Attention& p, int64_t rows);

// Keys of all sequences that there is room for, where each is to be a row of 16 bits.
int64_t widened_rows(const Attention& p);

// The fact widened: MiB of these rows, of keys and values.
int64_t widened(const Attention& p);

// How a row's kernel cuts the problem.
struct AttentionCut {
    int64_t units; // tiles of rows, over all heads and sequences
    int64_t tiles; // of them, of one key head; 0 where keys are not cut
    int64_t parts; // of the keys of each unit
};
// Rows of blocks beside each other (tiles.ptxh in ptx/lib/tile/attention), as a logarithm to base 2.
uint32_t rows_beside(const CheckedOp& work, const Row& row);
// Whether a warp merges so few parts of a row of decoding, not a block.
bool merged_by_rows(const Attention& p, uint32_t columns, int64_t parts);
// Instructions of warps that copy so many bytes of keys and values, a chunk a lane.
constexpr uint32_t attention_copies(uint32_t bytes) {
    constexpr uint32_t CHUNK = 16, WARP = 32, A_COPY = 7;
    return bytes / CHUNK / WARP * A_COPY;
}
AttentionCut cut_attention(const CheckedOp& work, const Row& row);
void load_attention(const CheckedOp& work, const Row& row, Load& load);

} // namespace spark

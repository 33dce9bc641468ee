// SPDX-License-Identifier: Apache-2.0
// Attention and a kernel -> Plan; and the operator's entry in the list. Tensors are told by strides, and lengths of
// sequences stay on the device. Here a long key sequence is cut into parts, which a second launch merges.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/divide.h"
#include "ops/attention/tiles.h"
#include "ops/convert/problem.h"
#include "ops/quant/written.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// Factors of scores: of what the tanh gives of capped ones, of q k else, to base 2; and of q k for the tanh, or 0.
// Never 0 or infinite where they count: a product with an infinite score, or with 0, would have no value.
struct Factors {
    float scale, cap;
};
Factors factors_of(const Attention& p) {
    constexpr double LOG2_E = 1.4426950408889634;
    const auto some = [](double factor) {
        return static_cast<float>(std::clamp<double>(factor, SMALLEST_SCALE, std::numeric_limits<float>::max()));
    };
    if (p.cap == 0) return {some(static_cast<float>(LOG2_E) * p.scale), 0};
    return {some(p.cap * LOG2_E), some(static_cast<double>(p.scale) / p.cap)};
}

// j / page = (2j * magic >> 32) >> shift for j < 2^31, as pages.ptxh in ptx/lib/tile/attention divides: magic exceeds
// 2^(31 + shift) / page by at most 1, and j times that is less than 2^(31 + shift).
struct Division {
    uint32_t magic, shift;
};
Division division_by(uint64_t page) {
    if (page == 0) return {};
    auto shift = static_cast<uint32_t>(std::bit_width(page - 1));
    return {static_cast<uint32_t>((uint64_t{1} << (31 + shift)) / page + 1), shift};
}

// A stride of keys or values, where the kernels that use it ask for whole chunks.
uint32_t in_chunks(uint32_t bits, int64_t stride) { return static_cast<uint32_t>(stride * bits / (8 * CHUNK)); }

// What the kernels keep of each row (ranges.ptxh in ptx/lib/tile/attention).
uint32_t kind_of_rows(const Attention& p) {
    if (p.bits != 0) return 2;
    if ((p.starts | p.ends) != 0) return 1;
    return p.slopes != 0 ? UINT32_MAX : 0;
}

// What hides keys from single queries, or favours those that are near.
void add_masks(const Attention& p, kernels::attention_generic_params& params) {
    params.ranges = kind_of_rows(p);
    params.starts = p.starts;
    params.ends = p.ends;
    params.slopes = p.slopes;
    params.bits = p.bits;
    params.words = p.words;
    params.bits_first = p.bits_first;
}

// The next bytes of the workspace.
spark_devptr take(Plan& calls, uint64_t bytes) {
    calls.workspace_size += bytes;
    return calls.workspace + calls.workspace_size - bytes;
}

// Where scales stand: those of blocks of tokens behind a launch that repeats them, so that kernels know none.
spark_devptr place_scales(const AttentionScales& x, Plan& calls) {
    constexpr int64_t LINES = 256; // bytes, so that what stands behind begins a line
    const AttentionTokenBlocks& b = x.blocks;
    if (b.tokens == 0) return x.data;
    const int64_t count = b.heads * x.head;
    const spark_devptr to = take(calls, static_cast<uint64_t>(ceil_div(count * int64_t{sizeof(float)}, LINES) * LINES));
    plan_copy({.x = x.data,
               .y = to,
               .dims = 4,
               .count = count,
               .size = {b.tokens, b.count, b.rows, b.heads},
               .x_stride = {0, b.step, b.seq, b.head},
               .y_stride = {x.token, b.tokens * x.token, x.seq, x.head}},
              calls);
    return to;
}

// Of codes.
void add_scales(const AttentionNumbers& n, kernels::attention_generic_params& params, Plan& calls) {
    params.q_scale = place_scales(n.q_scale, calls);
    params.k_scale = place_scales(n.k_scale, calls), params.v_scale = place_scales(n.v_scale, calls);
    params.q_scale_seq = n.q_scale.seq, params.q_scale_head = n.q_scale.head;
    params.k_scale_seq = n.k_scale.seq, params.k_scale_head = n.k_scale.head;
    params.v_scale_seq = n.v_scale.seq, params.v_scale_head = n.v_scale.head;
    params.k_blocks = n.k_blocks.data, params.v_blocks = n.v_blocks.data;
    params.k_blocks_seq = n.k_blocks.seq, params.v_blocks_seq = n.v_blocks.seq;
    params.k_blocks_token = n.k_blocks.token, params.v_blocks_token = n.v_blocks.token;
    params.k_blocks_head = n.k_blocks.head, params.v_blocks_head = n.v_blocks.head;
    params.o_scale = n.o_scale, params.o_amax = n.amax;
}

// Scales of keys, or of values, as what stands beside each row.
void put_keys_scales(const AttentionScales& k, kernels::attention_generic_params& params) {
    params.k_blocks = params.k_scale, params.k_scale = 0;
    params.k_blocks_seq = k.seq, params.k_blocks_token = k.token, params.k_blocks_head = k.head;
}
void put_values_scales(const AttentionScales& v, kernels::attention_generic_params& params) {
    params.v_blocks = params.v_scale, params.v_scale = 0;
    params.v_blocks_seq = v.seq, params.v_blocks_token = v.token, params.v_blocks_head = v.head;
}

// The last of some entries; of none the first, which nobody reads.
uint32_t last_of(int64_t count) { return static_cast<uint32_t>(std::clamp<int64_t>(count - 1, 0, UINT32_MAX)); }

kernels::attention_generic_params params_of(const Attention& p, Plan& calls) {
    const Division by_page = division_by(static_cast<uint64_t>(p.page));
    const Factors factors = factors_of(p);
    kernels::attention_generic_params params = {};
    params.q = p.q.data;
    params.k = p.k.data;
    params.v = p.v.data;
    params.o = p.o.data;
    params.lse = p.lse.data;
    params.cu_q = p.cu_q;
    params.cu_k = p.cu_k;
    params.lens = p.lens;
    params.q_seq = p.q.seq;
    params.q_token = p.q.token;
    params.q_head = p.q.head;
    params.k_seq = p.k.seq;
    params.k_token = p.k.token;
    params.k_head = p.k.head;
    params.v_seq = p.v.seq;
    params.v_token = p.v.token;
    params.v_head = p.v.head;
    params.o_seq = p.o.seq;
    params.o_token = p.o.token;
    params.o_head = p.o.head;
    params.lse_seq = p.lse.seq;
    params.lse_token = p.lse.token;
    params.lse_head = p.lse.head;
    params.s = p.s;
    params.t = p.t;
    params.sq = p.sq;
    params.seqs = p.seqs;
    params.left = p.left;
    params.right = p.right;
    params.h = static_cast<uint32_t>(p.h);
    params.hkv = static_cast<uint32_t>(p.hkv);
    params.d = static_cast<uint32_t>(p.d);
    params.scale = factors.scale;
    params.group = static_cast<uint32_t>(p.group);
    params.parts = 1;
    params.table_last = last_of(p.entries);
    params.page = static_cast<uint32_t>(p.page);
    params.page_last = last_of(p.pages);
    params.page_magic = by_page.magic;
    params.page_shift = by_page.shift;
    params.k_step = in_chunks(p.kv_bits, p.k.token);
    params.v_step = in_chunks(p.v_bits, p.v.token);
    params.k_page = in_chunks(p.kv_bits, p.k.seq);
    params.v_page = in_chunks(p.v_bits, p.v.seq);
    params.sinks = p.sinks;
    params.table = p.table;
    params.table_seq = p.table_seq;
    params.cap = factors.cap;
    params.table_first = p.table_first;
    params.table_rest = p.table_rest;
    add_masks(p, params);
    add_scales(p.numbers, params, calls);
    params.o_second = p.o_coded ? p.numbers.o_type == 3 : p.f16;
    return params;
}

// Strides of NVFP4 in bytes, of two numbers each.
void count_pairs(kernels::attention_generic_params& params) {
    for (int64_t* stride :
         {&params.k_seq, &params.k_token, &params.k_head, &params.v_seq, &params.v_token, &params.v_head}) {
        *stride /= 2;
    }
}

// Blocks of the second launch: one a row, or one for some heads of a query.
int64_t merges_of(const Attention& p, const Kernel&) { return p.seqs * p.sq * p.h; }
int64_t merges_of(const Attention& p, const kernels::attention_merge_rows_kernel& merge) {
    return p.seqs * p.sq * ceil_div(p.h, merge.W);
}

// The second launch, of one of the kernels attention_merge: it puts the parts of each row together.
template <class Merge>
void add_merge(const Attention& p, const Merge& merge, const kernels::attention_generic_params& parts, int64_t width,
               Plan& calls) {
    kernels::attention_merge_params params = {};
    params.o = parts.o;
    params.lse = parts.lse;
    params.cu_q = parts.cu_q;
    params.cu_k = parts.cu_k;
    params.lens = parts.lens;
    params.table = parts.table;
    params.sums = parts.sums;
    params.states = parts.states;
    params.sinks = parts.sinks;
    params.o_seq = parts.o_seq;
    params.o_token = parts.o_token;
    params.o_head = parts.o_head;
    params.lse_seq = parts.lse_seq;
    params.lse_token = parts.lse_token;
    params.lse_head = parts.lse_head;
    params.s = parts.s;
    params.t = parts.t;
    params.sq = parts.sq;
    params.left = parts.left;
    params.right = parts.right;
    params.h = parts.h;
    params.hkv = parts.hkv;
    params.d = parts.d;
    params.width = static_cast<uint32_t>(width);
    params.group = parts.group;
    params.blocks = parts.blocks;
    params.parts = parts.parts;
    params.pitch = parts.pitch;
    params.slots = parts.slots;
    params.starts = parts.starts;
    params.ends = parts.ends;
    params.v_scale = parts.v_scale;
    params.v_scale_seq = parts.v_scale_seq;
    params.v_scale_head = parts.v_scale_head;
    params.table_first = parts.table_first;
    params.table_rest = parts.table_rest;
    params.table_last = parts.table_last;
    params.page = parts.page;
    params.o_scale = parts.o_scale;
    params.o_amax = parts.o_amax;
    params.o_second = parts.o_second;
    calls.add(merge, params, merges_of(p, merge));
}

template <class Of, class Merge>
void merge_parts(const Attention& p, const Of& kernel, const Merge& merge,
                 const kernels::attention_generic_params& parts, Plan& calls) {
    add_merge(p, merge, parts, kernel.D, calls);
}
void merge_parts(const Attention& p, const kernels::attention_split_kernel& kernel,
                 const kernels::attention_merge_kernel& merge, const kernels::attention_generic_params& parts,
                 Plan& calls) {
    if (!merged_by_rows(p, kernel.D, parts.parts)) return add_merge(p, merge, parts, kernel.D, calls);
    if (kernel.D == 64) {
        return add_merge(p, p.f16 ? kernels::attention_merge_f16__rows_d64 : kernels::attention_merge_bf16__rows_d64,
                         parts, kernel.D, calls);
    }
    add_merge(p, p.f16 ? kernels::attention_merge_f16__rows : kernels::attention_merge_bf16__rows, parts, kernel.D,
              calls);
}

// What a launch before the kernel makes rows of 16 bits of: all tokens of `seqs` sequences, the rows of a head one
// after the other. lengths: how many each sequence has.
kernels::attention_widen_params widening(const kernels::attention_generic_params& params, int64_t seqs, int64_t tokens,
                                         Plan& calls) {
    constexpr int64_t TOKENS = 64, LINES = 256; // tokens of a block; bytes, so that what stands behind begins a line
    kernels::attention_widen_params rows = {};
    static_assert(offsetof(kernels::attention_widen_params, rows_k) == sizeof params);
    memcpy(&rows, &params, sizeof params);
    const int64_t most = INT32_MAX / std::max<int64_t>(seqs * rows.hkv, 1);
    rows.blocks = static_cast<uint32_t>(std::clamp<int64_t>(ceil_div(tokens, TOKENS), 1, most));
    rows.lengths = take(calls, static_cast<uint64_t>(ceil_div(seqs * 4, LINES) * LINES));
    return rows;
}

// Of queries that are codes; scaled: numbers, not codes.
const kernels::attention_widen_kernel& widen_of_queries(const Attention& p, bool scaled) {
    const bool e5m2 = p.numbers.q_type == 3;
    if (scaled && p.f16) {
        return e5m2 ? kernels::attention_widen_f16e5m2__d128_tokens : kernels::attention_widen_f16e4m3__d128_tokens;
    }
    if (scaled) {
        return e5m2 ? kernels::attention_widen_bf16e5m2__d128_tokens : kernels::attention_widen_bf16e4m3__d128_tokens;
    }
    if (p.f16) return e5m2 ? kernels::attention_widen_f16e5m2__d128 : kernels::attention_widen_f16e4m3__d128;
    return e5m2 ? kernels::attention_widen_bf16e5m2__d128 : kernels::attention_widen_bf16e4m3__d128;
}

// Queries that are codes: their rows, which params then names.
void put_queries(const Attention& p, bool scaled, kernels::attention_generic_params& params, Plan& calls) {
    if (p.q_coded == 0) return;
    const kernels::attention_widen_kernel& widen = widen_of_queries(p, scaled);
    kernels::attention_generic_params codes = {};
    codes.k = codes.v = p.q.data;
    if (scaled) {
        codes.k_scale = params.q_scale;
        put_keys_scales(p.numbers.q_scale, codes);
    }
    const int64_t seqs = p.cu_q != 0 ? 1 : p.seqs;
    codes.k_seq = codes.v_seq = p.q.seq, codes.k_token = codes.v_token = p.q.token;
    codes.k_head = codes.v_head = p.q.head;
    codes.t = p.s, codes.d = params.d, codes.hkv = params.h;
    kernels::attention_widen_params rows = widening(codes, seqs, p.s, calls);
    rows.rows_k = take(calls, static_cast<uint64_t>(seqs * p.s * p.h * p.d) * ELEM);
    calls.add(widen, rows, seqs * p.h * rows.blocks);
    params.q = rows.rows_k, params.q_token = p.d, params.q_head = p.s * p.d, params.q_seq = p.h * p.s * p.d;
}

// What blocks find the largest magnitude of o from, by a launch.
void clear_amax(const Attention& p, Plan& calls) {
    if (p.numbers.amax != 0) plan_amax_of_nothing(p.numbers.amax, calls);
}

// Of kernels that know one type: what comes before them is under way. scaled: they know no scales.
kernels::attention_generic_params start(const CheckedOp& work, Plan& calls, bool scaled = false) {
    const Attention& p = work.as<Attention>();
    kernels::attention_generic_params params = params_of(p, calls);
    clear_amax(p, calls);
    if (p.kv_bits == 4) count_pairs(params);
    put_queries(p, scaled, params, calls);
    if (scaled || of_tokens(p, p.numbers.k_scale)) put_keys_scales(p.numbers.k_scale, params);
    if (scaled || of_tokens(p, p.numbers.v_scale)) put_values_scales(p.numbers.v_scale, params);
    return params;
}

// The workspace holds two tables: `rows` rows of `width` sums, then their states.
void put_tables(int64_t rows, int64_t width, kernels::attention_generic_params& params, Plan& calls) {
    params.sums = take(calls, static_cast<uint64_t>(rows * width) * sizeof(float));
    params.states = take(calls, static_cast<uint64_t>(rows) * 2 * sizeof(float));
}

// What each of `blocks` blocks that make several parts, of `columns` a warp, keeps between them: RUNNING_BYTES of
// fold.ptxh in ptx/lib/tile/attention.
template <class Of>
void put_running(int64_t blocks, const Of& kernel, int64_t columns, kernels::attention_generic_params& params,
                 Plan& calls) {
    int64_t pairs = kernel.MF * (columns / 4 + 2);
    params.sums = take(calls, static_cast<uint64_t>(blocks * pairs * kernel.block) * 2 * sizeof(float));
}

// Parts as long as the device wants them.
template <class Of>
void put_parts(const Attention&, const Of& kernel, const AttentionCut& cut, kernels::attention_generic_params& params,
               Plan& calls) {
    if (cut.parts == 1) return;
    params.pitch = kernel.ROWS;
    put_tables(cut.units * cut.parts * kernel.ROWS, kernel.D, params, calls);
}

// Parts at fixed keys, each with a slot of its own, whatever block makes it.
void put_parts(const Attention& p, const kernels::attention_parts_kernel& kernel, const AttentionCut& cut,
               kernels::attention_generic_params& params, Plan& calls) {
    if (cut.parts == 1) {
        if (p.batch_invariant && p.t > kernel.PART)
            put_running(cut.units, kernel, kernel.D / kernel.SIDES, params, calls);
        return;
    }
    int64_t each = ceil_div(p.t, kernel.PART), pitch = std::min<int64_t>(p.sq * p.group, kernel.ROWS);
    const bool packed = p.packed_k || p.table_first != 0; // sequences share the tokens that there are
    int64_t slots = packed ? p.t / kernel.PART + p.seqs : p.seqs * each;
    params.pitch = static_cast<uint32_t>(pitch);
    params.slots = static_cast<uint32_t>(packed ? 0 : each);
    put_tables(slots * p.hkv * cut.tiles * pitch, kernel.D, params, calls);
}

// A block makes a part of the keys of a unit: the rows of some queries and the heads that share a key head.
template <class Of, class Merge>
void plan(const CheckedOp& work, const Row& row, const Of& kernel, const Merge& merge, Plan& calls) {
    const Attention& p = work.as<Attention>();
    AttentionCut cut = cut_attention(work, row);
    kernels::attention_generic_params params = start(work, calls);
    params.parts = static_cast<uint32_t>(cut.parts);
    params.blocks = static_cast<uint32_t>(cut.tiles);
    params.sms = static_cast<uint32_t>(work.target->sms);
    put_parts(p, kernel, cut, params, calls);
    calls.add(kernel, params);
    if (cut.parts > 1) merge_parts(p, kernel, merge, params, calls);
}

// A block makes some queries of one head.
void add_prompt(const CheckedOp& work, const Row& row, const kernels::attention_kernel& kernel,
                kernels::attention_generic_params& params, Plan& calls) {
    const Attention& p = work.as<Attention>();
    if (p.batch_invariant && kernel.PART != 0 && p.t > kernel.PART) {
        put_running(cut_attention(work, row).units, kernel, kernel.D, params, calls);
    }
    params.blocks = rows_beside(work, row);
    calls.add(kernel, params);
}
void plan(const CheckedOp& work, const Row& row, const kernels::attention_kernel& kernel, Plan& calls) {
    kernels::attention_generic_params params = start(work, calls);
    add_prompt(work, row, kernel, params, calls);
}

// What it starts from is another launch's: rows of 16 bits in the workspace, and before them how many keys each
// sequence has. A list of first tokens of keys numbers the rows too, without it they are those of a sequence.
//     | lengths | keys of all heads | values | what the kernel itself keeps |
void put_widened(const Attention& p, const kernels::attention_widen_kernel& widen,
                 kernels::attention_generic_params& params, Plan& calls) {
    const uint64_t bytes = static_cast<uint64_t>(widened_rows(p) * p.hkv * p.d) * ELEM;
    const int64_t seqs = p.packed_k ? 1 : p.seqs;
    kernels::attention_widen_params rows = widening(params, seqs, p.packed_k ? p.t : p.sk, calls);
    if (p.packed_k) rows.cu_k = 0, rows.lens = 0;
    rows.rows_k = take(calls, bytes), rows.rows_v = take(calls, bytes);
    calls.add(widen, rows, seqs * p.hkv * rows.blocks);
    params.k = rows.rows_k, params.v = rows.rows_v, params.table = 0;
    params.k_token = params.v_token = p.d;
    params.k_step = params.v_step = static_cast<uint32_t>(p.d) * ELEM / CHUNK;
    params.k_head = params.v_head = p.t * p.d;
    params.k_seq = params.v_seq = p.hkv * p.t * p.d;
    if (!p.packed_k) params.cu_k = 0, params.lens = rows.lengths;
}
void plan(const CheckedOp& work, const Row& row, const kernels::attention_kernel& kernel,
          const kernels::attention_widen_kernel& widen, Plan& calls) {
    const Attention& p = work.as<Attention>();
    kernels::attention_generic_params params = start(work, calls, widen.TOKENS != 0);
    put_widened(p, widen, params, calls);
    add_prompt(work, row, kernel, params, calls);
}
void plan(const CheckedOp& work, const Row&, const kernels::attention_generic_kernel& kernel, Plan& calls) {
    calls.add(kernel, start(work, calls));
}
// Codes as they are, queries too.
void plan(const CheckedOp& work, const Row& row, const kernels::attention_fp8_kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    clear_amax(p, calls);
    kernels::attention_generic_params params = params_of(p, calls);
    params.blocks = rows_beside(work, row);
    calls.add(kernel, params);
}

// Integers, with scales of tokens of queries and keys.
void plan(const CheckedOp& work, const Row& row, const kernels::attention_i8_kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    kernels::attention_generic_params common = params_of(p, calls);
    common.blocks = rows_beside(work, row);
    kernels::attention_i8_params params = {};
    static_assert(offsetof(kernels::attention_i8_params, q_scale_token) == sizeof common);
    memcpy(&params, &common, sizeof common);
    params.q_scale_token = p.numbers.q_scale.token, params.k_scale_token = p.numbers.k_scale.token;
    calls.add(kernel, params);
}

// Kernels that are also told how wide values are.
template <class Params, class Of>
void add_widths(const Attention& p, const Of& kernel, const kernels::attention_generic_params& common, Plan& calls) {
    Params params = {};
    static_assert(offsetof(Params, dv) == sizeof common);
    memcpy(&params, &common, sizeof common);
    params.dv = static_cast<uint32_t>(p.dv);
    calls.add(kernel, params);
}
void plan(const CheckedOp& work, const Row& row, const kernels::attention_apart_kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    kernels::attention_generic_params common = params_of(p, calls);
    common.blocks = rows_beside(work, row);
    add_widths<kernels::attention_apart_params>(p, kernel, common, calls);
}
void plan(const CheckedOp& work, const Row&, const kernels::attention_widths_kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    add_widths<kernels::attention_widths_params>(p, kernel, params_of(p, calls), calls);
}

// The same, of numbers of any type, with scales and a bias.
void plan(const CheckedOp& work, const Row&, const kernels::attention_any_kernel& kernel, Plan& calls) {
    const Attention& p = work.as<Attention>();
    const AttentionNumbers& n = p.numbers;
    clear_amax(p, calls);
    const kernels::attention_generic_params common = params_of(p, calls);
    kernels::attention_any_params params = {};
    static_assert(offsetof(kernels::attention_any_params, flags) == sizeof common); // the header names them first
    memcpy(&params, &common, sizeof common);
    params.flags = kernels::attention_any_flags{
        .q_type = n.q_type, .k_type = n.k_type, .v_type = n.v_type, .o_type = n.o_type, .bias_type = n.bias_type};
    params.bias = n.bias.data, params.bias_tokens = n.bias.tokens, params.bias_keys = n.bias.keys;
    params.bias_seq = n.bias.seq, params.bias_head = n.bias.head;
    params.bias_query = n.bias.query, params.bias_key = n.bias.key;
    params.q_scale_token = n.q_scale.token;
    params.k_scale_token = n.k_scale.token, params.v_scale_token = n.v_scale.token;
    params.k_blocks_step = n.k_blocks.step, params.v_blocks_step = n.v_blocks.step;
    params.q_blocks = n.q_blocks.data, params.q_blocks_seq = n.q_blocks.seq;
    params.q_blocks_token = n.q_blocks.token, params.q_blocks_head = n.q_blocks.head;
    params.q_blocks_step = n.q_blocks.step;
    calls.add(kernel, params);
}

// Limits of a kernel for which another makes rows of keys and values first: that one's, and its own but for pages, of
// which there are none then.
template <const auto& OF, const auto& BEFORE> consteval auto limits_behind() {
    constexpr auto other = [](const Limit& limit) { return std::string_view(limit.fact) != "paged"; };
    constexpr size_t own = static_cast<size_t>(std::ranges::count_if(OF, other));
    std::array<Limit, own + BEFORE.size()> both{};
    std::ranges::copy_if(OF, both.begin(), other);
    std::ranges::copy(BEFORE, both.begin() + own);
    return both;
}
template <const auto& OF, const auto& BEFORE> constexpr auto LIMITS_BEHIND = limits_behind<OF, BEFORE>();

// A row of another contract, whose plan launches `before` first.
#define LIMITS_OF_BOTH(name, before) LIMITS_BEHIND<kernels::limits::name, kernels::limits::before>
#define ROW_BEHIND(contract, name, before, because)                                              \
    made_for(contract, make_row_as<PlanOf>(kernels::name, LIMITS_OF_BOTH(name, before), because, \
                                           tile_of(kernels::name), kernels::before)),

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/attention/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, ATTENTION_FACT_NAMES>();

// load.cpp shifts where it would divide.
static_assert([] {
    for (const Row& row : TABLE.rows) {
        for (uint32_t size : {row.tile.rows, row.tile.depth}) {
            if (!std::has_single_bit(size)) return false;
        }
    }
    return true;
}());

} // namespace

extern const Operator ATTENTION = {SPARK_OP_ATTENTION, TABLE,          ATTENTION_FACT_NAMES,
                                   check_attention,    load_attention, true};

} // namespace spark

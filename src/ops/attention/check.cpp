// SPDX-License-Identifier: Apache-2.0
// spark_attention_args -> Attention. What the description cannot say: how many sequences there are, which tensors hold
// them one after the other, the bounds of their lengths.
#include <algorithm>
#include <cmath>

#include "core/divide.h"
#include "ops/attention/problem.h"
#include "ops/common/rows.h"

namespace spark {
namespace {

using namespace attention_field;

long long ll(int64_t value) { return static_cast<long long>(value); }

// A tensor's strides; `packed` if a list of first tokens numbers its tokens over the first two dimensions together.
spark_status tensor(const ValidatedArgs& bound, uint32_t field, bool packed, AttentionTensor& out, Report& report) {
    const View& v = bound.view[field];
    out = {};
    if (!v.present) return SPARK_OK;
    out = {v.data, v.stride[0], v.stride[1], v.stride[2]};
    if (!packed || v.shape[0] <= 1) return SPARK_OK;
    if (v.shape[1] == 1) {
        out.token = v.stride[0];
        return SPARK_OK;
    }
    int64_t wanted;
    if (!__builtin_mul_overflow(v.stride[1], v.shape[1], &wanted) && v.stride[0] == wanted) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "%s.stride[0] is %lld; shape[1] * stride[1] wanted, since a list of first tokens numbers "
                             "the tokens of both dimensions",
                             bound.spec->fields[field].name, ll(v.stride[0]));
}

// The fact blocks_align: of rows of scales, whose bytes follow each other.
int64_t blocks_alignment(const AttentionNumbers& numbers) {
    int64_t all = 0;
    for (const AttentionBlocks& x : {numbers.k_blocks, numbers.v_blocks}) {
        if (x.step > 1) return 0;
        all |= static_cast<int64_t>(x.data) | x.seq | x.token | x.head;
    }
    return std::min<int64_t>(low_bit(all), low_bit(0));
}

// The fact span: sizes are 1 and more, and strides count where there are several.
int64_t span(const Attention& p) {
    constexpr int64_t A_COPY = 64;   // tokens
    constexpr int64_t A_CHUNK = 128; // bits
    int64_t tokens = p.paged ? p.page : std::min(p.t, A_COPY), pages = p.paged ? p.pages : 1, most = 0;
    for (const AttentionTensor* x : {&p.k, &p.v}) {
        const int64_t unit = A_CHUNK / (x == &p.k ? p.kv_bits : p.v_bits); // elements of 16 bytes
        int64_t within = tokens > 1 ? (tokens - 1) * x->token : 0, between = pages > 1 ? (pages - 1) * x->seq : 0;
        most = std::max(most, (within + between) / unit);
    }
    return most;
}

bool has_pages(const ValidatedArgs& bound) { return bound.view[BLOCK_TABLE].present || bound.view[KV_INDICES].present; }

spark_status count_sequences(const ValidatedArgs& bound, int64_t& seqs, Report& report) {
    const View* v = bound.view;
    seqs = v[Q].shape[0];
    for (uint32_t field : {CU_SEQLENS_Q, CU_SEQLENS_K}) {
        if (!v[field].present) continue;
        if (v[field].shape[0] == 0) {
            return report.fail_field(SPARK_ERR_INVALID_SHAPE, field, "%s.shape[0] is 0; 1 or more wanted",
                                     bound.spec->fields[field].name);
        }
        seqs = v[field].shape[0] - 1;
    }
    if (!v[CU_SEQLENS_Q].present && seqs != v[Q].shape[0]) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, CU_SEQLENS_K,
                                 "cu_seqlens_k.shape[0] is %lld; %lld wanted, one more than q.shape[0], since "
                                 "cu_seqlens_q is absent",
                                 ll(v[CU_SEQLENS_K].shape[0]), ll(v[Q].shape[0] + 1));
    }
    if (!v[CU_SEQLENS_K].present && !has_pages(bound) && v[K].shape[0] < seqs) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, K, "k.shape[0] is %lld; at least %lld wanted, one a sequence",
                                 ll(v[K].shape[0]), ll(seqs));
    }
    if (v[SEQ_LENS].present && v[SEQ_LENS].shape[0] < seqs) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, SEQ_LENS,
                                 "seq_lens.shape[0] is %lld; at least %lld wanted, one a sequence",
                                 ll(v[SEQ_LENS].shape[0]), ll(seqs));
    }
    return SPARK_OK;
}

// That a list has at least `count` entries.
spark_status check_entries(const ValidatedArgs& bound, uint32_t field, int64_t count, const char* of, Report& report) {
    const View& list = bound.view[field];
    if (!list.present || list.shape[0] >= count) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_SHAPE, field, "%s.shape[0] is %lld; at least %lld wanted, %s",
                             bound.spec->fields[field].name, ll(list.shape[0]), ll(count), of);
}

// A table of pages, or a list of them with the first of each sequence.
spark_status check_table(const ValidatedArgs& bound, int64_t seqs, Report& report) {
    if (spark_status s = check_entries(bound, BLOCK_TABLE, seqs, "one a sequence", report)) return s;
    if (spark_status s = check_entries(bound, KV_INDPTR, seqs + 1, "one a sequence and the end", report)) return s;
    return check_entries(bound, KV_LAST_PAGE_LEN, seqs, "one a sequence", report);
}

// Pages, and the tokens that a sequence has room for in them.
spark_status check_pages(const ValidatedArgs& bound, Attention& p, Report& report) {
    const View &table = bound.view[BLOCK_TABLE], &list = bound.view[KV_INDICES], &k = bound.view[K];
    if (!has_pages(bound)) return SPARK_OK;
    if (spark_status s = check_table(bound, p.seqs, report)) return s;
    if (k.shape[1] > INT32_MAX || __builtin_mul_overflow((list.present ? list : table).last(0), k.shape[1], &p.t)) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, K,
                                 "k.shape[1] is %lld; at most 2147483647 tokens a page wanted, fewer than 2^63 in all",
                                 ll(k.shape[1]));
    }
    p.paged = true, p.pages = k.shape[0], p.page = k.shape[1];
    if (!list.present) {
        p.table = table.data, p.table_seq = table.stride[0];
        p.entries = table.shape[0] == 0 ? 0 : (table.shape[0] - 1) * p.table_seq + table.shape[1];
        return SPARK_OK;
    }
    p.table = list.data, p.entries = list.shape[0], p.table_first = bound.view[KV_INDPTR].data;
    p.table_rest = bound.view[KV_LAST_PAGE_LEN].present ? bound.view[KV_LAST_PAGE_LEN].data : 0;
    return SPARK_OK;
}

spark_status check_heads(const ValidatedArgs& bound, Report& report) {
    const View &q = bound.view[Q], &k = bound.view[K];
    if (q.shape[2] == 0 || k.shape[2] != 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_SHAPE, K,
                             "k.shape[2] is 0; 1 or more wanted, since the %lld heads of q share those of k",
                             ll(q.shape[2]));
}

// Codes, a bias and results of another type go with values as wide as keys.
spark_status check_widths(const Attention& p, Report& report) {
    if (p.dv == p.d || (p.kv_bits == 16 && !p.numbers.wanted && !p.o_coded)) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, V,
                             "v.shape[3] is %lld, k.shape[3] %lld; the same wanted, unless q, k, v and o are all BF16 "
                             "or all F16, without a bias",
                             ll(p.dv), ll(p.d));
}

spark_status check_scalars(const spark_attention_args& args, Report& report) {
    if (!std::isfinite(args.scale) || args.scale < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SCALE, "scale is %g; finite and 0 or more wanted",
                                 static_cast<double>(args.scale));
    }
    if (!std::isfinite(args.softcap) || args.softcap < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SOFTCAP, "softcap is %g; finite and 0 or more wanted",
                                 static_cast<double>(args.softcap));
    }
    if (args.max_seqlen_q < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, MAX_SEQLEN_Q, "max_seqlen_q is %lld; 0 or more wanted",
                                 ll(args.max_seqlen_q));
    }
    if (args.max_seqlen_k < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, MAX_SEQLEN_K, "max_seqlen_k is %lld; 0 or more wanted",
                                 ll(args.max_seqlen_k));
    }
    if (args.mask_first < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, MASK_FIRST, "mask_first is %lld; 0 or more wanted",
                                 ll(args.mask_first));
    }
    if (args.window_left < -1) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, WINDOW_LEFT, "window_left is %lld; -1 or more wanted",
                                 ll(args.window_left));
    }
    if (args.window_right >= -1) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, WINDOW_RIGHT, "window_right is %lld; -1 or more wanted",
                             ll(args.window_right));
}

int64_t reach(int64_t window) { return window < 0 ? ALL_KEYS : std::min(window, ALL_KEYS); }

// Sum over i < rows of i + first, taken into 0 .. keys.
uint64_t sum_of_places(int64_t rows, int64_t first, int64_t keys) {
    int64_t from = std::clamp<int64_t>(-first, 0, rows), to = std::clamp<int64_t>(keys - first, from, rows);
    auto count = static_cast<uint64_t>(to - from), least = static_cast<uint64_t>(from + first);
    return count * least + (count > 0 ? count * (count - 1) / 2 : 0) + static_cast<uint64_t>((rows - to) * keys);
}

// Pairs of a query and a key that it sees, if every length is its bound.
uint64_t visible_pairs(const Attention& p) {
    int64_t place = p.sk - p.sq; // of query 0; what lies further away than all keys and queries changes nothing
    int64_t left = std::min(p.left, p.sk), right = std::min(p.right, p.sq);
    return sum_of_places(p.sq, place + right + 1, p.sk) - sum_of_places(p.sq, place - left, p.sk);
}

// The fact masked. Kernels that take bits number queries with 32 bits, and take all keys up to the first bit's without
// a mask, but for those before a window: no query may stand before it where causal or window_right hide keys.
int64_t masks(const Attention& p) {
    const bool ranged = (p.starts | p.ends) != 0;
    if (p.bits == 0) return ranged;
    const int64_t rows = p.cu_q != 0 ? 1 : std::max<int64_t>(p.seqs, 1);
    const bool simple = p.s <= UINT32_MAX / rows && (p.bits_first <= 0 || p.right == ALL_KEYS);
    return simple && !ranged ? 1 : 2;
}

// The fact apart.
int64_t apart(const Attention& p) { return p.dv != p.d ? 1 : p.d > 256 ? 2 : 0; }

// The fact biased. Kernels that take slopes divide them by what scores are scaled with, and keep nothing else of rows.
int64_t biased(const Attention& p) {
    const float scale = p.cap == 0 ? p.scale : p.cap;
    if (p.slopes == 0) return 0;
    return masks(p) == 0 && scale >= 0x1p-20f && scale <= 0x1p20f ? 1 : 2;
}

constexpr bool is_fp8(uint8_t type) { return type == 2 || type == 3; }

// The fact q_coded.
uint8_t coding(const Attention& p) {
    if (p.numbers.wanted || !is_fp8(p.numbers.q_type)) return 0;
    const AttentionScales& scale = p.numbers.q_scale;
    return scale.token != 0 ? 3 : scale.head != 0 && p.group != 1 ? 2 : 1;
}

// The fact q_codes.
int64_t codes_alignment(const View& q, const View& k, const Attention& p) {
    const bool alike = q.dtype == SPARK_DTYPE_E4M3 && k.dtype == SPARK_DTYPE_E4M3;
    return alike && !p.by_token && !p.numbers.wanted ? alignment_of(q) : 0;
}

constexpr int64_t WIDENED_ALIGN = 32; // of rows of 16 bits, of a multiple of 16 columns

void fill_facts(const ValidatedArgs& bound, const Attention& p, CheckedOp& work) {
    const View* v = bound.view;
    int64_t facts[ATTENTION_FACTS] = {p.sq,
                                      p.sk,
                                      p.d,
                                      p.dv,
                                      apart(p),
                                      p.h,
                                      p.hkv,
                                      p.group * p.hkv == p.h ? p.group : 0,
                                      p.seqs,
                                      p.seqs * p.h * p.sq,
                                      p.s,
                                      p.t,
                                      p.q_coded != 0 ? WIDENED_ALIGN : alignment_of(v[Q]),
                                      alignment_of(v[K]),
                                      alignment_of(v[V]),
                                      alignment_of(v[O]),
                                      span(p),
                                      p.paged,
                                      masks(p),
                                      biased(p),
                                      blocks_alignment(p.numbers),
                                      p.left,
                                      p.right,
                                      p.batch_invariant && p.kv_bits < 16 ? INT32_MAX : widened(p),
                                      p.q_coded,
                                      codes_alignment(v[Q], v[K], p)};
    memcpy(work.facts, facts, sizeof facts);
    auto heads = static_cast<uint64_t>(p.seqs * p.h);
    const auto d = static_cast<uint64_t>(p.d), dv = static_cast<uint64_t>(p.dv);
    work.flops = 2 * heads * visible_pairs(p) * (d + dv);
    auto keys = static_cast<uint64_t>(p.seqs) * static_cast<uint64_t>(p.hkv);
    keys *= static_cast<uint64_t>(keys_seen(p, p.sq));
    constexpr uint64_t A_SCALE = 32;
    const uint64_t of_query = d * v[Q].elem_bits + dv * v[O].elem_bits;
    uint64_t of_scales = v[K].dtype == SPARK_DTYPE_E2M1 ? d : 0; // a byte for 16 of each
    for (const AttentionScales& x : {p.numbers.k_scale, p.numbers.v_scale}) {
        of_scales += x.token != 0 ? A_SCALE / static_cast<uint64_t>(std::max<int64_t>(x.blocks.tokens, 1)) : 0;
    }
    const uint64_t of_key = d * v[K].elem_bits + dv * v[V].elem_bits + of_scales;
    work.bytes = (of_query * heads * static_cast<uint64_t>(p.sq) + of_key * keys) / 8;
}

Contract contract_for(const Attention& p, uint32_t of_keys) {
    constexpr Contract BF16[] = {"attention_bf16", "attention_bf16e4m3", "attention_bf16e5m2", "attention_bf16nvfp4"},
                       F16[] = {"attention_f16", "attention_f16e4m3", "attention_f16e5m2", "attention_f16nvfp4"},
                       I8[] = {"attention_i8bf16", "attention_i8f16"}, ANY = "attention_any";
    constexpr Contract TOKENS[] = {"attention_bf16e4m3_tokens", "attention_bf16e5m2_tokens", "attention_f16e4m3_tokens",
                                   "attention_f16e5m2_tokens"};
    if (p.numbers.wanted) return ANY;
    if (p.kv_bits != p.v_bits) return I8[p.numbers.v_type];
    if (p.o_coded && p.kv_bits == 16) return "attention_bf16_codes";
    if (p.o_coded && p.batch_invariant) return "attention_bf16e4m3_codes";
    if (p.by_token || p.o_coded) return TOKENS[(p.f16 ? 2 : 0) + (of_keys == SPARK_DTYPE_E5M2 ? 1 : 0)];
    const auto& of = p.f16 ? F16 : BF16;
    switch (of_keys) {
    case SPARK_DTYPE_E4M3: return of[1];
    case SPARK_DTYPE_E5M2: return of[2];
    case SPARK_DTYPE_E2M1: return of[3];
    default: return of[0];
    }
}

} // namespace

spark_status check_attention(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_attention_args>();
    const View *v = bound.view, &q = v[Q], &k = v[K];
    Attention& p = work.as<Attention>();
    p = {};
    if (spark_status s = check_scalars(args, report)) return s;
    if (spark_status s = count_sequences(bound, p.seqs, report)) return s;
    if (spark_status s = check_heads(bound, report)) return s;
    bool packed_q = v[CU_SEQLENS_Q].present, packed_k = v[CU_SEQLENS_K].present && !has_pages(bound);
    if (spark_status s = tensor(bound, Q, packed_q, p.q, report)) return s;
    if (spark_status s = tensor(bound, K, packed_k, p.k, report)) return s;
    if (spark_status s = tensor(bound, V, packed_k, p.v, report)) return s;
    if (spark_status s = tensor(bound, O, packed_q, p.o, report)) return s;
    if (spark_status s = tensor(bound, LSE, packed_q, p.lse, report)) return s;
    p.cu_q = packed_q ? v[CU_SEQLENS_Q].data : 0;
    p.cu_k = v[CU_SEQLENS_K].present ? v[CU_SEQLENS_K].data : 0;
    p.lens = v[SEQ_LENS].present ? v[SEQ_LENS].data : 0;
    p.sinks = v[SINKS].present ? v[SINKS].data : 0;
    p.slopes = v[ALIBI_SLOPES].present ? v[ALIBI_SLOPES].data : 0;
    p.starts = v[KEY_STARTS].present ? v[KEY_STARTS].data : 0;
    p.ends = v[KEY_ENDS].present ? v[KEY_ENDS].data : 0;
    if (v[KEY_MASK].present && v[KEY_MASK].count != 0) {
        p.bits = v[KEY_MASK].data, p.words = v[KEY_MASK].shape[2];
        p.bits_first = bound.is_default(MASK_FIRST) ? -1 : args.mask_first;
    }
    p.h = q.shape[2], p.hkv = k.shape[2], p.d = q.shape[3], p.dv = v[V].shape[3];
    p.group = p.hkv > 0 ? quotient(p.h, p.hkv) : 0;
    p.s = q.count == 0 ? 0 : packed_q ? q.shape[0] * q.shape[1] : q.shape[1];
    p.t = packed_k ? k.shape[0] * k.shape[1] : k.shape[1];
    if (spark_status s = check_pages(bound, p, report)) return s;
    if (k.count == 0) p.t = 0;
    p.sq = bound.is_default(MAX_SEQLEN_Q) ? p.s : std::min(args.max_seqlen_q, p.s);
    p.sk = bound.is_default(MAX_SEQLEN_K) ? p.t : std::min(args.max_seqlen_k, p.t);
    p.scale = bound.is_default(SCALE) ? static_cast<float>(1 / std::sqrt(static_cast<double>(p.d))) : args.scale;
    p.cap = args.softcap;
    p.f16 = q.dtype == SPARK_DTYPE_F16 || (q.elem_bits == 8 && v[O].dtype == SPARK_DTYPE_F16);
    p.kv_bits = k.elem_bits, p.v_bits = v[V].elem_bits;
    p.batch_invariant = (bound.flags & SPARK_FLAG_BATCH_INVARIANT) != 0;
    if (spark_status s = check_numbers(bound, packed_q, packed_k, p, report)) return s;
    p.q_coded = coding(p);
    if (spark_status s = check_widths(p, report)) return s;
    p.left = reach(args.window_left);
    p.right = (bound.flags & SPARK_ATTENTION_CAUSAL) != 0 ? 0 : reach(args.window_right);
    p.packed_k = packed_k;
    work.empty = q.shape[0] == 0 || q.shape[1] == 0 || p.h == 0 || p.seqs == 0 || p.sq == 0;
    int64_t rows; // every other product of sizes is smaller than one that the validator has bounded, or has no sign
    if (__builtin_mul_overflow(p.seqs, p.h, &rows) || __builtin_mul_overflow(rows, p.sq, &rows)) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, CU_SEQLENS_Q,
                                 "%lld sequences of up to %lld queries with %lld heads; fewer than 2^63 rows wanted",
                                 ll(p.seqs), ll(p.sq), ll(p.h));
    }
    fill_facts(bound, p, work);
    work.contract = contract_for(p, k.dtype);
    return SPARK_OK;
}

} // namespace spark

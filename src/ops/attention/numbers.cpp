// SPDX-License-Identifier: Apache-2.0
// Types of attention's tensors, the scales of their codes, and the bias: what the kernel for numbers of any type is
// told, and whether others take them too.
#include <algorithm>

#include "core/dtype.h"
#include "ops/attention/problem.h"
#include "ops/common/coded.h"

namespace spark {
namespace {

using namespace attention_field;

long long ll(int64_t value) { return static_cast<long long>(value); }

// TYPE_* of ptx/lib/tile/attention/numbers.ptxh.
uint8_t type_of(uint32_t dtype) {
    switch (dtype) {
    case SPARK_DTYPE_F16: return 1;
    case SPARK_DTYPE_E4M3: return 2;
    case SPARK_DTYPE_E5M2: return 3;
    case SPARK_DTYPE_E2M1: return 4;
    case SPARK_DTYPE_F32: return 5;
    case SPARK_DTYPE_I8: return 6;
    default: return 0;
    }
}

// Where a list of first tokens numbers the tokens of both dimensions, what stands beside rows does so too.
spark_status fold(const ValidatedArgs& bound, uint32_t field, const char* what, int64_t rows, int64_t tokens,
                  int64_t seq, int64_t& token, Report& report) {
    if (rows <= 1) return SPARK_OK;
    int64_t wanted;
    if (tokens == 1) {
        token = seq;
        return SPARK_OK;
    }
    if (!__builtin_mul_overflow(token, tokens, &wanted) && seq == wanted) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "%s%s: %lld from row to row of tokens; %lld times the %lld from token to token wanted, "
                             "since a list of first tokens numbers the tokens of both dimensions",
                             bound.spec->fields[field].name, what, ll(seq), ll(tokens), ll(token));
}

// Scales of blocks of tokens: kernels take such of tokens. Those of a single block a row are the row's.
spark_status repeat_blocks(const ValidatedArgs& bound, uint32_t field, bool packed, AttentionScales& out,
                           Report& report) {
    constexpr int64_t MOST = int64_t{1} << 33; // of a workspace that has a size
    const View& v = bound.view[field];
    const spark_quant_form& form = *v.quant.form;
    const int64_t tokens = v.quant.block[1], count = v.quant.blocks[1], rows = v.shape[0], heads = v.shape[2];
    if (form.num_blocks != 3 || form.block[0] == 0 || v.count == 0) return SPARK_OK;
    if (packed && rows > 1 && v.shape[1] % tokens != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                                 "%s.shape[1] is %lld; a multiple of %lld wanted, for so many tokens share a scale and "
                                 "a list of first tokens numbers the tokens of both dimensions",
                                 bound.spec->fields[field].name, ll(v.shape[1]), ll(tokens));
    }
    if (count == 1 && !(packed && rows > 1)) return SPARK_OK;
    int64_t all;
    if (__builtin_mul_overflow(count, tokens, &all) || __builtin_mul_overflow(all, heads, &all) ||
        __builtin_mul_overflow(all, rows, &all) || all > MOST) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field,
                                 "%s has %lld rows of %lld tokens with %lld heads; 2^33 in all at most wanted, for a "
                                 "scale of %lld tokens is repeated for each",
                                 bound.spec->fields[field].name, ll(rows), ll(v.shape[1]), ll(heads), ll(tokens));
    }
    out.blocks = {tokens, rows, count, heads, out.seq, out.token, out.head};
    out.seq = count * tokens, out.token = 1, out.head = rows * out.seq;
    return SPARK_OK;
}

int64_t step_of(const QuantView& quant, uint32_t d) { return quant.blocks[d] > 1 ? quant.stride[d] : 0; }

// The F32 scales of a tensor [row, token, head, d]: those of NVFP4 are one for each row, and blocks stand beside.
spark_status scales(const ValidatedArgs& bound, uint32_t field, bool packed, AttentionScales& out,
                    AttentionBlocks& blocks, Report& report) {
    const View& v = bound.view[field];
    const QuantView& quant = v.quant;
    out = {}, blocks = {};
    if (quant.form == nullptr) return SPARK_OK;
    const int64_t rows = packed ? v.shape[0] : 1;
    if (!is_nv(quant)) {
        out = {quant.scale, step_of(quant, 0), step_of(quant, 1), step_of(quant, 2), {}};
        if (spark_status s = repeat_blocks(bound, field, packed, out, report)) return s;
        return fold(bound, field, ".quant.scale_stride", rows, v.shape[1], out.seq, out.token, report);
    }
    if (quant.layout != SPARK_SCALE_LINEAR) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field, "%s.quant.scale_layout is %u; %u wanted, LINEAR",
                                 bound.spec->fields[field].name, quant.layout, SPARK_SCALE_LINEAR);
    }
    out = {quant.global_scale, v.shape[0] > 1 ? quant.global_stride : 0, 0, 0, {}};
    blocks = {quant.scale, step_of(quant, 0), step_of(quant, 1), step_of(quant, 2), step_of(quant, 3)};
    if (spark_status s = fold(bound, field, ".quant.global_stride", rows, v.shape[1], out.seq, out.token, report)) {
        return s;
    }
    return fold(bound, field, ".quant.scale_stride", rows, v.shape[1], blocks.seq, blocks.token, report);
}

AttentionBias bias_of(const View& v) {
    if (!v.present || v.count == 0) return {};
    return {v.data, v.stride[0], v.stride[1], v.stride[2], v.stride[3], v.shape[2], v.shape[3]};
}

// Codes of queries that a launch may make rows of 16 bits of, in a workspace that has a size.
bool can_widen(const View& q) {
    constexpr int64_t CHUNK = 8, COLUMNS = 16, MOST = int64_t{1} << 40;
    return q.elem_bits == 8 && q.shape[3] % COLUMNS == 0 && alignment_of(q) >= CHUNK && q.count <= MOST;
}

bool is_half(uint32_t dtype) { return dtype == SPARK_DTYPE_BF16 || dtype == SPARK_DTYPE_F16; }

// Results that are codes over a scale, of caches of BF16 or of FP8; of batch-invariant calls of BF16 or E4M3.
bool has_codes(const View& q, const View& k, const View& o, bool batch_invariant) {
    if (o.elem_bits != 8 || o.quant.form == nullptr || k.elem_bits < 8) return false;
    if (k.elem_bits == 16) return k.dtype == SPARK_DTYPE_BF16;
    return !batch_invariant || (k.dtype == SPARK_DTYPE_E4M3 && q.dtype != SPARK_DTYPE_F16);
}

// Queries whose keys are of the same type and of no other.
bool is_alone(uint32_t dtype) { return dtype == SPARK_DTYPE_I8 || dtype == SPARK_DTYPE_E2M1; }

spark_status wrong_type(const ValidatedArgs& bound, uint32_t field, const char* wanted, Report& report) {
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field, "%s.dtype is %s, that of q %s; %s wanted",
                             bound.spec->fields[field].name, dtype_info(bound.view[field].dtype).name,
                             dtype_info(bound.view[Q].dtype).name, wanted);
}

// What the lists of types do not say: which of them go together.
spark_status check_types(const ValidatedArgs& bound, Report& report) {
    const View *v = bound.view, &q = v[Q], &k = v[K];
    const bool integers = q.dtype == SPARK_DTYPE_I8, alone = is_alone(q.dtype);
    if (alone && k.dtype != q.dtype) return wrong_type(bound, K, "the same", report);
    if (alone && v[O].dtype == q.dtype) return wrong_type(bound, O, "BF16, F16, F32, E4M3 or E5M2", report);
    if (integers ? v[V].dtype != k.dtype : v[V].dtype == k.dtype) return SPARK_OK;
    return wrong_type(bound, V, integers ? "BF16, F16, E4M3 or E5M2" : "that of k", report);
}

// Whether kernels of one type take these numbers, and of what scales. Sums that do not follow the batch have kernels
// for one scale a sequence and head at most.
void set_kind(const ValidatedArgs& bound, Attention& p) {
    const View *v = bound.view, &q = v[Q], &o = v[O];
    AttentionNumbers& n = p.numbers;
    const bool coded = !is_alone(q.dtype) && has_codes(q, v[K], o, p.batch_invariant);
    const bool plain = is_half(q.dtype) ? coded || o.dtype == q.dtype : (coded || is_half(o.dtype)) && can_widen(q);
    p.by_token = n.q_scale.token != 0 || of_tokens(p, n.k_scale) || of_tokens(p, n.v_scale);
    const bool scaled = !p.by_token || (v[K].elem_bits == 8 && !p.batch_invariant);
    const bool integers = q.dtype == SPARK_DTYPE_I8 && is_half(v[V].dtype) && is_half(o.dtype) && p.cap == 0;
    n.wanted = (is_alone(q.dtype) ? !integers : !plain || !scaled) || (v[BIAS].present && v[BIAS].count != 0) ||
               (v[AMAX].present && !coded);
    p.o_coded = coded && !n.wanted;
}

} // namespace

int64_t alignment_of(const View& v) {
    int64_t bytes = v.alignment();
    for (uint32_t d = 0; d < 3; ++d) {
        if (v.shape[d] > 1) bytes = std::min(bytes, low_bit(v.stride[d], v.elem_bits));
    }
    return bytes;
}

spark_status check_numbers(const ValidatedArgs& bound, bool packed_q, bool packed_k, Attention& p, Report& report) {
    AttentionNumbers& numbers = p.numbers;
    const View *v = bound.view, &q = v[Q], &k = v[K], &o = v[O];
    if (spark_status s = check_types(bound, report)) return s;
    for (uint32_t field : {Q, K, V}) {
        if (v[field].dtype != SPARK_DTYPE_E2M1) continue;
        if (spark_status s = check_form(bound, O, field, report)) return s;
        if (spark_status s = check_codes(bound, field, report)) return s;
    }
    if (spark_status s = scales(bound, Q, packed_q, numbers.q_scale, numbers.q_blocks, report)) return s;
    if (spark_status s = scales(bound, K, packed_k, numbers.k_scale, numbers.k_blocks, report)) return s;
    if (spark_status s = scales(bound, V, packed_k, numbers.v_scale, numbers.v_blocks, report)) return s;
    numbers.bias = bias_of(v[BIAS]);
    numbers.o_scale = o.quant.form != nullptr ? o.quant.scale : 0;
    numbers.amax = v[AMAX].present ? v[AMAX].data : 0;
    numbers.q_type = type_of(q.dtype), numbers.o_type = type_of(o.dtype);
    numbers.k_type = type_of(k.dtype), numbers.v_type = type_of(v[V].dtype);
    numbers.bias_type = v[BIAS].present ? type_of(v[BIAS].dtype) : 0;
    set_kind(bound, p);
    return SPARK_OK;
}

} // namespace spark

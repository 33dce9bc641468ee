// SPDX-License-Identifier: Apache-2.0
// spark_gemm_args -> Gemm. What the description cannot say: contiguous dimensions, and alpha, beta, c. The contract
// (tn, nn, nt, tt) follows from which dimension of a and b is contiguous.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/dtype.h"
#include "ops/common/activation.h"
#include "ops/common/rows.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

// What a grid can count: 2^31 tiles of 64 x 64, with room to spare.
constexpr int64_t MAX_TILED = int64_t{1} << 42, MAX_BATCH = int64_t{1} << 31;

struct Operand {
    bool along_k; // contiguous along K
    int64_t ld, batch_stride;
};

int64_t batch_stride(const View& v) { return v.has_optional && v.shape[0] > 1 ? v.stride[0] : 0; }

// a or b: rows are M or N, columns K. A dimension of one element has no stride of its own.
spark_status operand(const ValidatedArgs& bound, uint32_t field, Operand& out, Report& report) {
    const View& v = bound.view[field];
    int64_t rows = v.last(1), k = v.last(0), along_rows = v.last_stride(1), along_k = v.last_stride(0);
    out.batch_stride = batch_stride(v);
    out.along_k = along_k == 1 || k <= 1;
    if (out.along_k) {
        out.ld = rows > 1 ? along_rows : k;
        return SPARK_OK;
    }
    out.ld = along_k;
    if (along_rows == 1 || rows <= 1) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "%s has strides %lld and %lld in its last two dimensions; "
                             "one of them must be 1",
                             bound.spec->fields[field].name, static_cast<long long>(along_rows),
                             static_cast<long long>(along_k));
}

int64_t row_stride(const View& v) { return v.last(1) > 1 ? v.last_stride(1) : v.last(0); }

spark_status check_scalars(const ValidatedArgs& bound, const spark_gemm_args& args, Report& report) {
    if (!std::isfinite(args.alpha)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, ALPHA, "alpha is %g; a finite number wanted",
                                 static_cast<double>(args.alpha));
    }
    if (!std::isfinite(args.beta) || (args.beta != 0 && !bound.view[C].present)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, BETA, "beta is %g%s", static_cast<double>(args.beta),
                                 std::isfinite(args.beta) ? " but c is absent; 0 wanted" : "; a finite number wanted");
    }
    return SPARK_OK;
}

// With K = 0 there are no codes, and no scales are read.
GemmScales scales_of(const View& v) {
    const QuantView& q = v.quant;
    if (q.form == nullptr || v.count == 0 || q.form->scheme == SPARK_QUANT_RECORD) return {};
    const uint32_t row = v.ndim - 2;
    const bool batched = v.has_optional && q.blocks[0] > 1;
    return {q.scale, q.blocks[row] > 1 ? q.stride[row] : 0, batched ? q.stride[0] : 0};
}

// Of two types only those of FP8 are multiplied, numbers with weights, and codes whose blocks have scales.
spark_status check_types(const ValidatedArgs& bound, Report& report) {
    const uint32_t a = bound.view[A].dtype, b = bound.view[B].dtype;
    const auto fp8 = [](uint32_t dtype) { return dtype == SPARK_DTYPE_E4M3 || dtype == SPARK_DTYPE_E5M2; };
    if (a == b || has_weights(bound) || (fp8(a) && fp8(b)) || both_block_scaled(bound)) return SPARK_OK;
    char forms[80];
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, B, "b.dtype is %s but a.dtype is %s; %s wanted%s",
                             dtype_info(b).name, dtype_info(a).name, dtype_info(a).name,
                             forms_of_weights(bound, forms, sizeof forms));
}

// Products of 8 and 4-bit elements exist for both along K alone.
spark_status check_layout(const ValidatedArgs& bound, const Operand& a, const Operand& b, Report& report) {
    if (bound.view[A].elem_bits > 8 || (a.along_k && b.along_k)) return SPARK_OK;
    const uint32_t field = a.along_k ? B : A;
    const View& v = bound.view[field];
    return report.fail_field(
        SPARK_ERR_UNSUPPORTED_LAYOUT, field, "%s.stride[%u] is %lld; 1 wanted, since %s is multiplied along K alone",
        bound.spec->fields[field].name, v.ndim - 1, static_cast<long long>(v.last_stride(0)), dtype_info(v.dtype).name);
}

// So many products of I8 have a sum of I32, whatever they are: 2^14 each at most.
constexpr int64_t MAX_INTEGERS = (1 << 17) - 1;

// Sums that are results have nothing done to them.
spark_status check_sums(const ValidatedArgs& bound, const spark_gemm_args& args, Report& report) {
    const View* v = bound.view;
    constexpr const char* WHY = "since d is I32, the sums themselves";
    if (v[A].dtype != SPARK_DTYPE_I8) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, D,
                                 "d.dtype is I32 but a.dtype is %s; F32, BF16 or F16 wanted, since only products of I8 "
                                 "are integers",
                                 dtype_info(v[A].dtype).name);
    }
    for (uint32_t field : {A, B}) {
        if (v[field].quant.form == nullptr) continue;
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field, "%s.quant.scheme is that of %s; 0 wanted, %s",
                                 bound.spec->fields[field].name, v[field].quant.form->name, WHY);
    }
    if (v[BIAS].present) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, BIAS, "bias is given; an absent one wanted, %s", WHY);
    }
    for (const auto& [field, value, wanted] : {std::tuple{ALPHA, args.alpha, 1.0f}, {BETA, args.beta, 0.0f}}) {
        if (value == wanted) continue;
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field, "%s is %g; %g wanted, %s",
                                 bound.spec->fields[field].name, static_cast<double>(value),
                                 static_cast<double>(wanted), WHY);
    }
    if (args.activation == SPARK_ACTIVATION_NONE) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, ACTIVATION, "activation is %d; NONE (0) wanted, %s",
                             static_cast<int>(args.activation), WHY);
}

spark_status check_integers(const ValidatedArgs& bound, const spark_gemm_args& args, Report& report) {
    const View& a = bound.view[A];
    if (a.dtype == SPARK_DTYPE_I8 && a.last(0) > MAX_INTEGERS) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, A,
                                 "a.shape[%u] is %lld; at most %lld wanted, since products of I8 are summed in I32",
                                 a.ndim - 1, static_cast<long long>(a.last(0)), static_cast<long long>(MAX_INTEGERS));
    }
    return bound.view[D].dtype == SPARK_DTYPE_I32 ? check_sums(bound, args, report) : SPARK_OK;
}

int64_t alignment(const View& v) {
    if (!v.present) return 256;
    return std::min(v.alignment(), low_bit(batch_stride(v), v.elem_bits));
}

void fill_facts(const ValidatedArgs& bound, const Gemm& p, CheckedOp& work) {
    const View* v = bound.view;
    const int64_t b_row_bytes = p.ldb * std::max(v[B].elem_bits, 8u) / 8, b_align = alignment(v[B]);
    int64_t facts[GEMM_FACTS] = {p.m,
                                 p.n,
                                 p.k,
                                 p.batch,
                                 p.moved.a ? gemm_pitch(p) : p.lda,
                                 p.moved.b || (p.weights && p.ldb != 0) ? gemm_pitch(p) : p.ldb,
                                 p.ldc,
                                 p.ldd,
                                 p.moved.a ? 256 : alignment(v[A]),
                                 p.moved.b || p.weights ? 256 : b_align,
                                 alignment(v[C]),
                                 alignment(v[D]),
                                 std::min(scales_alignment(p), kept_alignment(p.kept)),
                                 b_row_bytes == 0 ? b_align : std::min(b_align, b_row_bytes & -b_row_bytes),
                                 p.weights         ? gemm_unpacked(p)
                                 : p.stride_b == 0 ? 1
                                                   : p.batch,
                                 p.b_groups.shift == 0 ? 0 : int64_t{1} << p.b_groups.shift,
                                 p.b_groups.shift == 0                 ? 0
                                 : p.b_groups.dtype == SPARK_DTYPE_F16 ? 15
                                                                       : 127,
                                 p.moved.a + 2 * p.moved.b,
                                 p.f16_sums ? 16 : 32,
                                 p.parts};
    memcpy(work.facts, facts, sizeof facts);
    work.flops = 2 * static_cast<uint64_t>(p.m) * static_cast<uint64_t>(p.n) * static_cast<uint64_t>(p.k) *
                 static_cast<uint64_t>(p.batch);
    if (p.kept.on) work.flops /= 2;
    work.bytes = 0;
    for (uint32_t field : {A, B, C, D, BIAS, KEPT}) {
        bool read = v[field].present && (field != C || p.beta != 0) && (field != KEPT || p.kept.on);
        if (read) work.bytes += static_cast<uint64_t>(v[field].count) * v[field].elem_bits / 8;
        if (v[field].present && v[field].quant.form != nullptr)
            work.bytes += v[field].quant.scale_bytes + v[field].quant.zero_bytes;
    }
}

// Of k, so that rows of any number share the order of their sums: two where b's columns in the narrowest tiles are too
// few for the device and the parts are long, of what has tiles whose two parts join without a second launch.
int64_t invariant_parts(const Gemm& p, const Target& target) {
    constexpr int64_t NARROWEST = 64, LONG = 1024;
    if (p.integers) return 0;
    const bool numbers = p.elem_bits == 16 && p.a_along && p.b_along && !p.weights && !p.kept.on && !p.gate.on;
    return numbers && p.k >= 2 * LONG && ceil_div(p.n, NARROWEST) <= int64_t{target.sms} ? 2 : 1;
}

// What adds the parts counts four columns at a time, in 32 bits. Parts that are chosen belong to few tiles.
spark_status check_parts(const Gemm& p, Report& report) {
    constexpr int64_t MOST_FOURS = (int64_t{1} << 32) - 256; // with the last block
    if (p.parts <= 1 || p.n == 0 || p.m <= MOST_FOURS / ceil_div(p.n, 4)) return SPARK_OK;
    return report.fail_field(
        SPARK_ERR_UNSUPPORTED_SHAPE, D,
        "d has %lld x %lld elements with SPARK_FLAG_BATCH_INVARIANT and a K of which two parts are "
        "added; fewer than 2^34, in rows of whole fours, wanted",
        static_cast<long long>(p.m), static_cast<long long>(p.n));
}

// Of numbers, and of codes without scales of blocks, in a and b alike.
Contract contract_of_numbers(const Gemm& p) {
    // Contiguous along: a K, b K | a K, b N | a M, b N | a M, b K.
    constexpr Contract CONTRACTS[3][4] = {{"gemm_bf16_tn", "gemm_bf16_nn", "gemm_bf16_nt", "gemm_bf16_tt"},
                                          {"gemm_f16_tn", "gemm_f16_nn", "gemm_f16_nt", "gemm_f16_tt"},
                                          {"gemm_f32_tn", "gemm_f32_nn", "gemm_f32_nt", "gemm_f32_tt"}};
    // Of F32 by tensor cores: as it lies, moved, too much to be moved.
    constexpr Contract TF32[] = {"gemm_tf32_tn", "gemm_tf32_any", "gemm_f32_any"};
    constexpr Contract BF16X3[] = {"gemm_bf16x3_tn", "gemm_bf16x3_any", "gemm_f32_any"};
    const int layout = p.a_along ? (p.b_along ? 0 : 1) : (p.b_along ? 3 : 2);
    constexpr Contract E4M3 = "gemm_e4m3_tn", FP8 = "gemm_fp8_tn", I8 = "gemm_s8_tn";
    const int place = p.moved.any() ? 1 : layout == 0 ? 0 : 2;
    if (p.tf32) return TF32[place];
    if (p.bf16x3) return BF16X3[place];
    const Contract& of_codes = p.integers ? I8 : p.a_e5m2 || p.b_e5m2 ? FP8 : E4M3;
    constexpr Contract SPARSE[] = {"gemm_bf16_sparse", "gemm_f16_sparse", "gemm_e4m3_sparse", "gemm_fp8_sparse"};
    if (p.kept.on) return SPARSE[p.elem_bits == 8 ? 2 + (p.a_e5m2 || p.b_e5m2) : p.dtype == SPARK_DTYPE_F16];
    if (p.elem_bits == 8) return of_codes;
    constexpr Contract GATED[] = {"gemm_bf16_gated", "gemm_f16_gated"};
    if (p.gate.on && p.elem_bits == 16 && layout == 0) return GATED[p.dtype == SPARK_DTYPE_F16];
    return CONTRACTS[p.elem_bits == 32 ? 2 : p.dtype == SPARK_DTYPE_F16][layout];
}

spark_status wrong_products(const ValidatedArgs& bound, uint32_t field, const char* flag, const char* wanted,
                            Report& report) {
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field, "%s.dtype is %s with SPARK_GEMM_%s; %s wanted",
                             bound.spec->fields[field].name, dtype_info(bound.view[field].dtype).name, flag, wanted);
}

// Sums of F16 are those of F16 and FP8; how F32 is multiplied: one of two ways, or as it is.
spark_status check_products(const ValidatedArgs& bound, Report& report) {
    constexpr uint32_t SUMMED[] = {SPARK_DTYPE_F16, SPARK_DTYPE_E4M3, SPARK_DTYPE_E5M2};
    for (uint32_t field : {A, B}) {
        if ((bound.flags & SPARK_GEMM_F16_SUMS) == 0) break;
        if (std::ranges::find(SUMMED, bound.view[field].dtype) != std::end(SUMMED)) continue;
        return wrong_products(bound, field, "F16_SUMS", "F16, E4M3 or E5M2", report);
    }
    constexpr uint32_t BOTH = SPARK_GEMM_TF32 | SPARK_GEMM_BF16X3;
    const uint32_t flags = bound.flags & BOTH;
    if (flags == 0) return SPARK_OK;
    if (flags == BOTH) {
        return report.fail(SPARK_ERR_INVALID_VALUE,
                           "hdr.flags has SPARK_GEMM_TF32 and SPARK_GEMM_BF16X3; one of them wanted");
    }
    if (bound.view[A].dtype == SPARK_DTYPE_F32) return SPARK_OK;
    return wrong_products(bound, A, flags == SPARK_GEMM_TF32 ? "TF32" : "BF16X3", "F32", report);
}

// What grids count.
spark_status check_size(const Gemm& p, Report& report) {
    if (p.batch <= MAX_BATCH && (p.m == 0 || p.n <= MAX_TILED / p.m)) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, D,
                             "d has %lld batches of %lld x %lld; at most 2^31 batches of 2^42 elements wanted",
                             static_cast<long long>(p.batch), static_cast<long long>(p.m), static_cast<long long>(p.n));
}

} // namespace

spark_status check_gemm(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_gemm_args>();
    if (spark_status s = check_scalars(bound, args, report)) return s;
    if (spark_status s = check_cap(args.activation, args.cap, CAP, report)) return s;
    if (spark_status s = check_gemm_gate(bound, report)) return s;
    if (spark_status s = check_gemm_weights(bound, report)) return s;
    if (spark_status s = check_types(bound, report)) return s;
    if (spark_status s = check_products(bound, report)) return s;
    Operand a, b;
    if (spark_status s = operand(bound, A, a, report)) return s;
    if (spark_status s = operand(bound, B, b, report)) return s;
    if (spark_status s = check_layout(bound, a, b, report)) return s;
    if (spark_status s = check_integers(bound, args, report)) return s;
    if (spark_status s = check_gemm_places(bound, a.along_k, b.along_k, report)) return s;
    if (spark_status s = check_gemm_sparse(bound, a.along_k, b.along_k, report)) return s;
    const View &c = bound.view[C], &d = bound.view[D], &bias = bound.view[BIAS];
    Gemm& p = work.as<Gemm>();
    p = {};
    if (spark_status s = check_gemm_codes(bound, p, report)) return s;
    p.m = d.last(1), p.n = bound.view[B].last(1), p.k = bound.view[A].last(0);
    p.batch = d.has_optional ? d.shape[0] : 1;
    p.a = bound.view[A].data, p.b = bound.view[B].data, p.d = d.data;
    p.lda = a.ld, p.ldb = b.ld, p.ldd = row_stride(d);
    p.stride_a = a.batch_stride, p.stride_b = b.batch_stride, p.stride_d = batch_stride(d);
    if (c.present && args.beta != 0) p.c = c.data, p.ldc = row_stride(c), p.stride_c = batch_stride(c);
    if (bias.present) p.bias = bias.data, p.bias_dtype = bias.dtype;
    p.alpha = args.alpha;
    p.beta = args.beta;
    p.activation = args.activation, p.cap = args.cap;
    p.a_along = a.along_k, p.b_along = b.along_k;
    p.elem_bits = bound.view[A].elem_bits;
    p.integers = bound.view[A].dtype == SPARK_DTYPE_I8;
    p.a_e5m2 = bound.view[A].dtype == SPARK_DTYPE_E5M2, p.b_e5m2 = bound.view[B].dtype == SPARK_DTYPE_E5M2;
    p.a_scales = scales_of(bound.view[A]), p.b_scales = scales_of(bound.view[B]);
    p.dtype = bound.view[A].dtype, p.b_dtype = bound.view[B].dtype;
    if (has_weights(bound)) put_gemm_weights(bound, p);
    p.gate = gemm_gate(bound), p.kept = gemm_kept(bound);
    p.tf32 = (bound.flags & SPARK_GEMM_TF32) != 0, p.bf16x3 = (bound.flags & SPARK_GEMM_BF16X3) != 0;
    p.moved = gemm_moved(bound, p), p.f16_sums = (bound.flags & SPARK_GEMM_F16_SUMS) != 0;
    work.empty = d.count == 0;
    if (spark_status s = check_size(p, report)) return s;
    const bool invariant = (bound.flags & SPARK_FLAG_BATCH_INVARIANT) != 0;
    if (!p.weights && is_block_scaled(bound)) {
        p.parts = invariant ? 1 : 0;
        if (spark_status s = check_block_scaled(bound, p, work.contract, report)) return s;
        fill_facts(bound, p, work);
        return SPARK_OK;
    }
    work.exact_sums = p.integers;
    if (invariant) p.parts = invariant_parts(p, *work.target);
    if (spark_status s = check_parts(p, report)) return s;
    fill_facts(bound, p, work);
    work.contract = p.weights ? contract_of_weights(bound) : contract_of_numbers(p);
    return SPARK_OK;
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Products of codes whose blocks have scales: what they ask of a and b, and where the scales stand.
#include <algorithm>
#include <cstring>

#include "core/dtype.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

long long ll(int64_t value) { return static_cast<long long>(value); }
bool of_floats(const View& v) { return v.quant.scale_dtype == SPARK_DTYPE_F32; }
bool has_blocks(const View& v) { return v.quant.form != nullptr && v.quant.form->scheme == SPARK_QUANT_BLOCK; }

spark_status check_operand(const ValidatedArgs& bound, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    const char* name = bound.spec->fields[field].name;
    if (!has_blocks(v)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, field,
                                 "%s.quant has no scales of blocks; a form of %s that spark_op_form lists wanted", name,
                                 dtype_info(v.dtype).name);
    }
    if (of_floats(v) && v.dtype != SPARK_DTYPE_E4M3) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field, "%s.dtype is %s and %s.quant %s; E4M3 wanted",
                                 name, dtype_info(v.dtype).name, name, v.quant.form->name);
    }
    const int64_t block = of_floats(v) ? 1 : v.quant.block[v.ndim - 1];
    if (v.last(0) % block != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, field,
                                 "%s.shape[%u] is %lld; a multiple of %lld wanted, since blocks of %s are whole", name,
                                 v.ndim - 1, ll(v.last(0)), ll(block), v.quant.form->name);
    }
    if (spark_status s = check_tiles(bound, field, report)) return s;
    return v.count == 0 ? SPARK_OK : check_codes(bound, field, report);
}

// In bytes. A stride that nothing is multiplied with may be any number.
ScalePlaces places_of(const View& v) {
    const QuantView& q = v.quant;
    const uint32_t row = v.ndim - 2, batch = 0;
    const auto bytes = [&](int64_t stride) {
        return static_cast<int64_t>(static_cast<uint64_t>(stride) * (dtype_info(q.scale_dtype).bits / 8));
    };
    const int64_t outer = v.has_optional && v.shape[batch] > 1 ? bytes(q.stride[batch]) : 0;
    return scale_places(q, outer, q.blocks[row] > 1 ? bytes(q.stride[row]) : 0,
                        v.last(0) > 0 ? bytes(q.stride[v.ndim - 1]) : 1);
}

// Whether a may have b's form, and not b alone, as weights; or b one in which rows share scales.
bool is_form_of_product(const ValidatedArgs& bound, const View& b) {
    return b.quant.form->num_blocks == 2 ||
           std::ranges::any_of(bound.spec->forms[A], [&](const spark_quant_form& form) {
               return strcmp(form.name, b.quant.form->name) == 0;
           });
}

// What b has to be where a is that: OCP's formats, with powers of two, are multiplied by each other.
const char* partner(const View& a) {
    return of_floats(a) ? "128X128" : is_mx(a.quant) ? "MXFP8, MXFP8_E5M2, MXFP6, MXFP4 or 32X32" : a.quant.form->name;
}

// Of OCP's formats tensor cores multiply codes of four bits, and codes of bytes with these and with each other. What
// else there is becomes E4M3 first, where it lies so that it can.
Contract contract_of_mx(Gemm& p) {
    constexpr Contract MXFP4 = "gemm_mxfp4_tn", MX84 = "gemm_mx84_tn", ANY = "gemm_mx_tn";
    constexpr Contract BYTES[2][2] = {{"gemm_mxfp8_tn", "gemm_mxe4m3e5m2_tn"},
                                      {"gemm_mxe5m2e4m3_tn", "gemm_mxe5m2_tn"}};
    constexpr Contract WIDENED[2][2] = {{"gemm_mxfp8_any", "gemm_mxe4m3e5m2_any"}, {"gemm_mxe5m2e4m3_any", ANY}};
    const auto is_byte = [](uint32_t dtype) { return dtype == SPARK_DTYPE_E4M3 || dtype == SPARK_DTYPE_E5M2; };
    if (is_byte(p.dtype) && is_byte(p.b_dtype)) return BYTES[p.a_e5m2][p.b_e5m2];
    if (p.b_dtype == SPARK_DTYPE_E2M1 && p.dtype == SPARK_DTYPE_E2M1) return MXFP4;
    if (p.b_dtype == SPARK_DTYPE_E2M1 && p.dtype == SPARK_DTYPE_E4M3) return MX84;
    p.moved = gemm_widened(p);
    return p.moved.any() ? WIDENED[p.a_e5m2][p.b_e5m2] : ANY;
}

GemmScales of_all(const View& v) {
    const QuantView& q = v.quant;
    return {q.global_scale, 0, v.has_optional && v.shape[0] > 1 ? q.global_stride : 0};
}

int64_t alignment(const ScalePlaces& places) {
    if (places.data == 0) return 256;
    const int64_t all = static_cast<int64_t>(places.data) | places.outer | places.tile | places.quarter | places.row |
                        places.four | 256;
    return places.step == 1 ? all & -all : 1;
}

} // namespace

bool both_block_scaled(const ValidatedArgs& bound) { return has_blocks(bound.view[A]) && has_blocks(bound.view[B]); }

bool is_block_scaled(const ValidatedArgs& bound) {
    const View &a = bound.view[A], &b = bound.view[B];
    return has_blocks(a) || has_blocks(b) || a.elem_bits < 8 || b.elem_bits < 8;
}

spark_status check_block_scaled(const ValidatedArgs& bound, Gemm& p, Contract& contract, Report& report) {
    constexpr Contract B128 = "gemm_b128_tn", NVFP4 = "gemm_nvfp4_tn";
    for (uint32_t field : {A, B}) {
        if (spark_status s = check_operand(bound, field, report)) return s;
    }
    const View &a = bound.view[A], &b = bound.view[B];
    const bool each = is_mx(a.quant) && is_mx(b.quant) && is_form_of_product(bound, b);
    if (!each && strcmp(partner(a), b.quant.form->name) != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, B, "b.quant is %s but a.quant is %s; %s wanted",
                                 b.quant.form->name, a.quant.form->name, partner(a));
    }
    p.lda = p.lda * a.elem_bits / 8, p.stride_a = p.stride_a * a.elem_bits / 8;
    p.ldb = p.ldb * b.elem_bits / 8, p.stride_b = p.stride_b * b.elem_bits / 8;
    p.a_scales = of_all(a), p.b_scales = of_all(b);
    p.a_blocks = places_of(a), p.b_blocks = places_of(b);
    contract = of_floats(a) ? B128 : is_mx(a.quant) ? contract_of_mx(p) : NVFP4;
    return SPARK_OK;
}

spark_status check_block_weights(const ValidatedArgs& bound, Report& report) {
    if (spark_status s = check_operand(bound, B, report)) return s;
    return check_global(bound, B, report);
}

void put_block_weights(const ValidatedArgs& bound, Gemm& p) {
    const View& b = bound.view[B];
    p.b_blocked = true;
    p.ldb = p.ldb * b.elem_bits / 8, p.stride_b = p.stride_b * b.elem_bits / 8;
    p.b_scales = of_all(b), p.b_blocks = places_of(b);
    p.b_span = int64_t{4} * b.quant.block[b.ndim - 1];
}

int64_t scales_alignment(const Gemm& p) { return std::min(alignment(p.a_blocks), alignment(p.b_blocks)); }

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// What a call with weights says beyond what the description can: records of b that hold as many elements as a has, and
// which kernels multiply them.
#include "core/dtype.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

// The contract of weights in a format of records, for a in BF16 and in F16.
struct Weights {
    uint32_t record;
    Contract bf16, f16;
};
constexpr Weights WEIGHTS[] = {
    {SPARK_RECORD_Q8_0, "gemm_bf16_q80", "gemm_f16_q80"},
    {SPARK_RECORD_Q4_1, "gemm_bf16_q41", "gemm_f16_q41"},
};

long long ll(int64_t value) { return static_cast<long long>(value); }

} // namespace

const spark_quant_form* records_of(const View& v) {
    return v.quant.form != nullptr && v.quant.form->scheme == SPARK_QUANT_RECORD ? v.quant.form : nullptr;
}

spark_status check_gemm_weights(const ValidatedArgs& bound, Report& report) {
    const View &a = bound.view[A], &b = bound.view[B];
    const spark_quant_form* form = records_of(b);
    if (form == nullptr && b.dtype == SPARK_DTYPE_U8) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, B, "b.dtype is U8 but b.quant.scheme is 0; RECORD wanted");
    }
    if (form != nullptr && a.elem_bits != 16) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, B,
                                 "b is records of %s and a.dtype is %s; BF16 or F16 wanted", form->name,
                                 dtype_info(a.dtype).name);
    }
    return SPARK_OK;
}

// Records begin on even bytes, and lie along K as a does.
spark_status check_gemm_records(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report) {
    const View& v = bound.view[B];
    if (records_of(v) == nullptr || v.count == 0) return SPARK_OK;
    if (!a_along || !b_along) {
        const uint32_t field = a_along ? B : A;
        return report.fail_field(
            SPARK_ERR_UNSUPPORTED_LAYOUT, field,
            "%s.stride[%u] is %lld; 1 wanted, since b is records, which are multiplied along K alone",
            bound.spec->fields[field].name, bound.view[field].ndim - 1, ll(bound.view[field].last_stride(0)));
    }
    if (v.data % 2 != 0) {
        return report.fail_field(SPARK_ERR_INVALID_ALIGNMENT, B, "b.data is 0x%llx; an even address wanted for records",
                                 static_cast<unsigned long long>(v.data));
    }
    for (uint32_t d = 0; d + 1 < v.ndim; ++d) {
        if (v.stride[d] % 2 == 0 || v.shape[d] < 2) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, B,
                                 "b.stride[%u] is %lld; an even one wanted, so that records begin on even bytes", d,
                                 ll(v.stride[d]));
    }
    return SPARK_OK;
}

Contract contract_of_records(const spark_quant_form& form, uint32_t dtype) {
    for (const Weights& weights : WEIGHTS) {
        if (weights.record == form.record) return dtype == SPARK_DTYPE_F16 ? weights.f16 : weights.bf16;
    }
    __builtin_unreachable(); // the forms of op.toml are these
}

} // namespace spark

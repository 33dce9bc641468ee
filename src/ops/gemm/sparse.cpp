// SPDX-License-Identifier: Apache-2.0
// What a product with 2:4 sparsity says beyond what the description can: a flag that wants a tensor, types and
// layouts that there are kernels for, and how wide rows are.
#include <algorithm>

#include "core/divide.h"
#include "core/dtype.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

long long ll(int64_t value) { return static_cast<long long>(value); }

bool is_fp8(uint32_t dtype) { return dtype == SPARK_DTYPE_E4M3 || dtype == SPARK_DTYPE_E5M2; }

// Numbers of 16 bits of one type, or FP8 of any two, whose scales multiply whole sums.
spark_status check_types(const ValidatedArgs& bound, Report& report) {
    const uint32_t of_a = bound.view[A].dtype;
    const bool halves = of_a == SPARK_DTYPE_BF16 || of_a == SPARK_DTYPE_F16;
    for (uint32_t field : {A, B}) {
        const View& v = bound.view[field];
        const char* name = bound.spec->fields[field].name;
        if (halves ? v.dtype != of_a : !is_fp8(v.dtype)) {
            return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field,
                                     "%s.dtype is %s with SPARK_GEMM_TWO_OF_FOUR; %s wanted", name,
                                     dtype_info(v.dtype).name,
                                     field == A ? "BF16, F16, E4M3 or E5M2"
                                     : halves   ? dtype_info(of_a).name
                                                : "E4M3 or E5M2");
        }
        const auto* form = v.quant.form;
        if (form == nullptr || form->scheme == SPARK_QUANT_PER_TENSOR || form->scheme == SPARK_QUANT_PER_ROW) continue;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, field,
                                 "%s.quant.scheme is that of %s with SPARK_GEMM_TWO_OF_FOUR; PER_TENSOR, PER_ROW or 0 "
                                 "wanted",
                                 name, form->name);
    }
    return SPARK_OK;
}

spark_status check_widths(const ValidatedArgs& bound, Report& report) {
    const int64_t k = bound.view[A].last(0), width = bound.view[KEPT].last(0);
    if (k % 4 != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_SHAPE, A,
                                 "K is %lld with SPARK_GEMM_TWO_OF_FOUR; a multiple of 4 wanted", ll(k));
    }
    if (width == ceil_div(k, 8)) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_SHAPE, KEPT,
                             "rows of kept have %lld bytes; %lld wanted, since K is %lld", ll(width),
                             ll(ceil_div(k, 8)), ll(k));
}

} // namespace

spark_status check_gemm_sparse(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report) {
    if ((bound.flags & SPARK_GEMM_TWO_OF_FOUR) == 0) return SPARK_OK;
    if (!bound.view[KEPT].present) {
        return report.fail_field(SPARK_ERR_INVALID_NULL, KEPT,
                                 "kept is absent with SPARK_GEMM_TWO_OF_FOUR; a tensor wanted");
    }
    if (spark_status s = check_types(bound, report)) return s;
    if (spark_status s = check_widths(bound, report)) return s;
    if (a_along && b_along) return SPARK_OK;
    const uint32_t field = a_along ? B : A;
    const View& v = bound.view[field];
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "%s.stride[%u] is %lld; 1 wanted with SPARK_GEMM_TWO_OF_FOUR",
                             bound.spec->fields[field].name, v.ndim - 1, ll(v.last_stride(0)));
}

GemmKept gemm_kept(const ValidatedArgs& bound) {
    const View& v = bound.view[KEPT];
    if ((bound.flags & SPARK_GEMM_TWO_OF_FOUR) == 0) return {};
    return {true, v.data, v.last(1) > 1 ? v.last_stride(1) : v.last(0),
            v.has_optional && v.shape[0] > 1 ? v.stride[0] : 0};
}

int64_t kept_alignment(const GemmKept& kept) {
    if (!kept.on) return 256;
    const int64_t all = static_cast<int64_t>(kept.data) | kept.row | kept.batch | 256;
    return all & -all;
}

} // namespace spark

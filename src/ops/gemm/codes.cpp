// SPDX-License-Identifier: Apache-2.0
// What a product whose d is codes says beyond what the description can: their form, what is not done to such results,
// and who makes them.
#include "core/dtype.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

bool is_number(uint32_t dtype) {
    return dtype == SPARK_DTYPE_F32 || dtype == SPARK_DTYPE_BF16 || dtype == SPARK_DTYPE_F16 ||
           dtype == SPARK_DTYPE_I32;
}

// The bias is F32 or has the type of d; of codes it is any that d has otherwise.
spark_status check_bias(const ValidatedArgs& bound, Report& report) {
    const View &d = bound.view[D], &bias = bound.view[BIAS];
    const bool coded = !is_number(d.dtype);
    if (!bias.present || bias.dtype == SPARK_DTYPE_F32) return SPARK_OK;
    if (coded ? is_number(bias.dtype) && bias.dtype != SPARK_DTYPE_I32 : bias.dtype == d.dtype) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, BIAS, "bias.dtype is %s but d.dtype is %s; %s wanted",
                             dtype_info(bias.dtype).name, dtype_info(d.dtype).name,
                             coded                         ? "F32, BF16 or F16"
                             : d.dtype == SPARK_DTYPE_BF16 ? "BF16 or F32"
                             : d.dtype == SPARK_DTYPE_F16  ? "F16 or F32"
                                                           : "F32");
}

spark_status check_numbers(const ValidatedArgs& bound, bool own_amax, Report& report) {
    if (own_amax) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, D,
                                 "d.dtype is %s, which has no scales; without SPARK_GEMM_OWN_AMAX wanted",
                                 dtype_info(bound.view[D].dtype).name);
    }
    if (!bound.view[AMAX].present || bound.view[D].dtype != SPARK_DTYPE_I32) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, AMAX,
                             "amax is given but d.dtype is I32; an absent one wanted, since d is the sums themselves");
}

} // namespace

spark_status check_gemm_codes(const ValidatedArgs& bound, Gemm& p, Report& report) {
    const View& d = bound.view[D];
    const bool own_amax = (bound.flags & SPARK_GEMM_OWN_AMAX) != 0;
    p.d_dtype = d.dtype;
    if (spark_status s = check_bias(bound, report)) return s;
    p.codes.amax_wanted = bound.view[AMAX].present, p.codes.amax = bound.view[AMAX].data;
    if (is_number(d.dtype)) return check_numbers(bound, own_amax, report);
    if (d.quant.form == nullptr) {
        return report.fail_field(
            SPARK_ERR_INVALID_VALUE, D,
            "d.quant.scheme is 0; that of a form that spark_op_form lists wanted, since d.dtype is %s",
            dtype_info(d.dtype).name);
    }
    if (bound.view[C].present) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, C,
                                 "c is given; an absent one wanted, since nothing is added to results that become %s",
                                 d.quant.form->name);
    }
    GemmCodes& codes = p.codes;
    if (spark_status s = check_written(bound, D, own_amax, codes.written, report)) return s;
    const bool whole = d.quant.form->scheme == SPARK_QUANT_PER_TENSOR && !own_amax && !codes.amax_wanted;
    codes.on = true;
    codes.direct = whole && (d.dtype == SPARK_DTYPE_E4M3 || d.dtype == SPARK_DTYPE_E5M2);
    codes.e5m2 = d.dtype == SPARK_DTYPE_E5M2;
    codes.scale = d.quant.scale;
    codes.written.amax_wanted = codes.amax_wanted, codes.written.amax = codes.amax;
    p.d_dtype = SPARK_DTYPE_F32;
    return SPARK_OK;
}

} // namespace spark

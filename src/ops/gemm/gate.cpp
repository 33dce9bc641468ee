// SPDX-License-Identifier: Apache-2.0
// What a gated product says beyond what the description can: flags that belong together, a limit, and what is not done
// to its results.
#include <cmath>

#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"

namespace spark {
namespace {

using namespace gemm_field;

constexpr uint32_t OF_GATED = SPARK_GEMM_INTERLEAVED | SPARK_GEMM_UP_FIRST | SPARK_GEMM_GPT_OSS;

spark_status check_without_gate(const ValidatedArgs& bound, Report& report) {
    const auto& args = bound.arguments<spark_gemm_args>();
    if (const uint32_t flags = bound.flags & OF_GATED) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "hdr.flags has 0x%x without SPARK_GEMM_GATED; both or none wanted",
                           flags);
    }
    if (args.limit == 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, LIMIT, "limit is %g without SPARK_GEMM_GATED; 0 wanted",
                             static_cast<double>(args.limit));
}

} // namespace

spark_status check_gemm_gate(const ValidatedArgs& bound, Report& report) {
    const auto& args = bound.arguments<spark_gemm_args>();
    if (!std::isfinite(args.limit) || args.limit < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, LIMIT, "limit is %g; finite and 0 or more wanted",
                                 static_cast<double>(args.limit));
    }
    if ((bound.flags & SPARK_GEMM_GATED) == 0) return check_without_gate(bound, report);
    if ((bound.flags & SPARK_GEMM_GPT_OSS) != 0 && args.activation != SPARK_ACTIVATION_SILU) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, ACTIVATION,
                                 "activation is %u with SPARK_GEMM_GPT_OSS; SILU (1) wanted", args.activation);
    }
    if (args.beta != 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, BETA,
                                 "beta is %g with SPARK_GEMM_GATED; 0 wanted, since nothing is added to gated results",
                                 static_cast<double>(args.beta));
    }
    if (bound.view[D].dtype != SPARK_DTYPE_I32) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, D,
                             "d.dtype is I32 with SPARK_GEMM_GATED; F32, BF16 or F16 wanted");
}

GemmGate gemm_gate(const ValidatedArgs& bound) {
    return {.on = (bound.flags & SPARK_GEMM_GATED) != 0,
            .interleaved = (bound.flags & SPARK_GEMM_INTERLEAVED) != 0,
            .up_first = (bound.flags & SPARK_GEMM_UP_FIRST) != 0,
            .gpt_oss = (bound.flags & SPARK_GEMM_GPT_OSS) != 0,
            .limit = bound.arguments<spark_gemm_args>().limit};
}

} // namespace spark

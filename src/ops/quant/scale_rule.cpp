// SPDX-License-Identifier: Apache-2.0
// What quantize and requantize check alike, of scales that are made of an amax: see written.h.
#include <bit>
#include <cmath>

#include "core/dtype.h"
#include "ops/common/coded.h"
#include "ops/quant/written.h"

namespace spark {

// What is added to the bits of a number so that the exponent of the sum is that of the power of two which the rule
// makes of it: RCEIL carries from a fraction on that is beyond the largest number's, EVEN from one that rounds up to 2.
// With F32 scales the number is amax / largest, and RCEIL all there is.
uint32_t bump_of(uint32_t rule, const View& y) {
    constexpr uint32_t ONE = 1u << 23;
    const CodeInfo codes = code_info(y.dtype);
    switch (rule) {
    case SPARK_SCALE_RULE_RCEIL: return ONE - 1 - (is_mx(y.quant) ? std::bit_cast<uint32_t>(codes.largest) % ONE : 0);
    case SPARK_SCALE_RULE_EVEN: return ONE >> (codes.fraction + 1);
    default: return 0;
    }
}

spark_status check_scale_rule(const View& y, const ScaleRule& args, Report& report) {
    constexpr const char* RULES[] = {"USUAL", "FLOOR", "RCEIL", "EVEN", "FOUR_OVER_SIX"};
    const QuantView& quant = y.quant;
    const bool of_mx = args.rule == SPARK_SCALE_RULE_FLOOR || args.rule == SPARK_SCALE_RULE_EVEN;
    const bool known = args.rule == SPARK_SCALE_RULE_USUAL || (of_mx && is_mx(quant)) ||
                       (args.rule == SPARK_SCALE_RULE_FOUR_OVER_SIX && is_nv(quant)) ||
                       (args.rule == SPARK_SCALE_RULE_RCEIL && !is_nv(quant) && !is_record(quant) && !is_int4(y));
    if (!known) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED, args.rule_field,
                                 "rule is %s, which %s does not do; USUAL wanted", RULES[args.rule], quant.form->name);
    }
    const bool floor = !is_mx(quant) && !is_nv(quant) && !is_record(quant);
    if (!(args.amax_floor >= 0) || std::isinf(args.amax_floor) || (!floor && args.amax_floor != 0)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, args.floor_field, "amax_floor is %g; %s wanted",
                                 static_cast<double>(args.amax_floor), floor ? "a finite number from 0" : "0");
    }
    return SPARK_OK;
}

spark_status check_scale_of_all(const ValidatedArgs& bound, uint32_t y, uint32_t amax, Report& report) {
    static_assert(uint32_t{SPARK_QUANTIZE_OWN_AMAX} == SPARK_REQUANTIZE_OWN_AMAX);
    const QuantView& quant = bound.view[y].quant;
    const bool given = bound.view[amax].present, own = (bound.flags & SPARK_QUANTIZE_OWN_AMAX) != 0;
    if (!given && !own) return SPARK_OK;
    const bool of_all = quant.form->scheme == SPARK_QUANT_PER_TENSOR || is_nv(quant);
    if (given && !of_all) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, amax,
                                 "amax is given, but scales of %s follow from its own blocks; absent wanted",
                                 quant.form->name);
    }
    if (given && own) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, amax, "amax is given and OWN_AMAX set; one of them wanted");
    }
    return check_own_amax(bound, y, report);
}

} // namespace spark

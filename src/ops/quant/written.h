// SPDX-License-Identifier: Apache-2.0
// Results of other operators as codes: rows of F32 that one launch leaves in memory become what quantize makes of them,
// by its kernels, in the next. And what quantize's own check shares with that.
#pragma once

#include "ops/quant/problem.h"

namespace spark {

// The output's rows and scales. x is not told: the rows are found only when the launches are planned.
struct Written {
    Contract contract;
    Scaled rows;
    int64_t y_align;
    bool amax_wanted;
    spark_devptr amax; // where the largest magnitude of all goes then
};

// Whether codes of `y`, a field with a form that is none of records, can be written so, and how; rule USUAL, no least
// amax. own_amax: the scale of all is made of theirs.
spark_status check_written(const ValidatedArgs& bound, uint32_t y, bool own_amax, Written& out, Report& report);

// Adds the launches. x: address of the rows, `pitch` elements from one to the next, on 16 bytes, in order. What they
// need of the workspace is theirs alone.
void plan_written(const Written& written, const Target* target, spark_devptr x, int64_t pitch, Plan& calls);

// In plan.cpp: add the launches that find the largest magnitude of the rows; where it is, at `to` or in the workspace.
spark_devptr plan_amax(const CheckedOp& rows, spark_devptr to, Plan& calls);
spark_devptr plan_own_amax(const CheckedOp& rows, Plan& calls);
void plan_amax_of_nothing(spark_devptr to, Plan& calls); // 0 at `to`, which others raise

// What the contract is for codes of a type with scales of one: rows of core/scaled.inc.
struct ScaledContract {
    uint32_t codes, scales;
    Contract contract;
};
// That of v, if its blocks have scales of a type that the table knows, else `other`.
inline Contract contract_of_blocks(std::span<const ScaledContract> table, const View& v, const Contract& other) {
    for (const ScaledContract& of : table) {
        if (v.quant.form->scheme == SPARK_QUANT_BLOCK && of.codes == v.dtype && of.scales == v.quant.scale_dtype)
            return of.contract;
    }
    return other;
}

// Of a form's codes, each rounded to the nearest.
Contract contract_of_codes(const View& y);
// What a form says of a tensor's scales.
void put_form(const View& y, Scaled& p);
// Whether there is a scale of all that an amax of the tensor's own can become.
spark_status check_own_amax(const ValidatedArgs& bound, uint32_t y, Report& report);
spark_status check_no_zeros(const ValidatedArgs& bound, uint32_t y, Report& report);

inline bool is_int4(const View& v) {
    return v.dtype == SPARK_DTYPE_I4 || v.dtype == SPARK_DTYPE_U4 || v.dtype == SPARK_DTYPE_NF4;
}
inline bool is_record(const QuantView& quant) { return quant.form->scheme == SPARK_QUANT_RECORD; }

// In scale_rule.cpp. How the scales of y are made of an amax, and the fields that say it.
struct ScaleRule {
    uint32_t rule;
    float amax_floor;
    uint32_t rule_field, floor_field;
};
spark_status check_scale_rule(const View& y, const ScaleRule& args, Report& report);
uint32_t bump_of(uint32_t rule, const View& y);
// Where the amax comes from that the scale of all is made of, if there is such a scale, and where it goes.
spark_status check_scale_of_all(const ValidatedArgs& bound, uint32_t y, uint32_t amax, Report& report);

} // namespace spark

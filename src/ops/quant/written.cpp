// SPDX-License-Identifier: Apache-2.0
// See written.h.
#include "ops/quant/written.h"

#include <bit>

#include "core/dtype.h"

namespace spark {

extern const Operator QUANTIZE;

Contract contract_of_codes(const View& y) {
    constexpr Contract BYTE = {"quantize_byte"};
    static constexpr ScaledContract BLOCKS[] = {
#define SCALED(CODES, SCALES, F, W) {SPARK_DTYPE_##CODES, SPARK_DTYPE_##SCALES, "quantize_" #W},
#include "core/scaled.inc"
#undef SCALED
    };
    return contract_of_blocks(BLOCKS, y, BYTE);
}

void put_form(const View& y, Scaled& p) {
    const QuantView& quant = y.quant;
    p.scales = quant.scale_dtype;
    p.block_shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(quant.block[y.ndim - 1])));
    p.whole = quant.form->scheme == SPARK_QUANT_PER_TENSOR ? quant.scale : quant.global_scale;
    p.whole_rows = quant.form->scheme == SPARK_QUANT_PER_ROW;
}

spark_status check_own_amax(const ValidatedArgs& bound, uint32_t y, Report& report) {
    const QuantView& quant = bound.view[y].quant;
    const char* name = bound.spec->fields[y].name;
    if (quant.form->scheme != SPARK_QUANT_PER_TENSOR && !is_nv(quant)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, y,
                                 "%s.quant is %s, whose scales follow from its own blocks; without OWN_AMAX wanted",
                                 name, quant.form->name);
    }
    if (is_nv(quant) && quant.global_scale == 0 && bound.at_launch) {
        return report.fail_field(
            SPARK_ERR_INVALID_NULL, y,
            "%s.quant.global_scale is 0; a device address wanted, since the scale of all is written", name);
    }
    return SPARK_OK;
}

spark_status check_no_zeros(const ValidatedArgs& bound, uint32_t y, Report& report) {
    const QuantView& quant = bound.view[y].quant;
    if (quant.zero_dtype == 0) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, y,
                             "%s.quant.zero_dtype is %s; NONE (0) wanted, since no zeros are written",
                             bound.spec->fields[y].name, dtype_info(quant.zero_dtype).name);
}

spark_status check_written(const ValidatedArgs& bound, uint32_t y, bool own_amax, Written& out, Report& report) {
    const View& v = bound.view[y];
    if (spark_status s = check_no_zeros(bound, y, report)) return s;
    if (spark_status s = own_amax ? check_own_amax(bound, y, report) : SPARK_OK) return s;
    out = {};
    out.contract = contract_of_codes(v);
    Scaled& p = out.rows;
    if (v.count == 0) return SPARK_OK;
    if (spark_status s = fold_coded(bound, {&y, 1}, y, p, {&p.y, 1}, report)) return s;
    put_form(v, p);
    p.dtype = SPARK_DTYPE_F32;
    p.own_amax = own_amax;
    out.y_align = row_alignment(v, p.y);
    return SPARK_OK;
}

void plan_written(const Written& written, const Target* target, spark_devptr x, int64_t pitch, Plan& calls) {
    constexpr int64_t ROWS_ALIGN = 16;
    CheckedOp work{};
    work.target = target;
    work.contract = written.contract;
    Scaled& p = work.as<Scaled>();
    p = written.rows;
    p.x = {x, p.rows0 * pitch, pitch};
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows_scaled * p.rows1;
    work.facts[QUANT_X_ALIGN] = ROWS_ALIGN;
    work.facts[QUANT_Y_ALIGN] = written.y_align;
    if (written.amax_wanted) {
        p.amax = plan_amax(work, written.amax, calls);
        if (!p.own_amax) p.amax = 0;
        p.own_amax = false;
    }
    const Table& table = QUANTIZE.table;
    const Request request = {.rows = rows_of(table.rows, work.contract.id),
                             .table = table,
                             .fact_names = QUANTIZE.fact_names,
                             .facts = work.facts,
                             .target = target,
                             .load = nullptr,
                             .work = &work,
                             .deterministic = false,
                             .batch_invariant = false,
                             .pattern = nullptr,
                             .kernel_id = 0,
                             .flags = 0,
                             .tuning = nullptr,
                             .rows_fact = -1};
    if (const Row* row = pick(request)) table.plan(work, *row, calls);
}

} // namespace spark

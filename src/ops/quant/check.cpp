// SPDX-License-Identifier: Apache-2.0
// spark_dequantize_args -> Dequantize, spark_amax_args -> Amax. What the description cannot say: how many bytes a row
// of records has, and which row strides the kernels take.
#include <cstring>

#include "ops/common/rows.h"
#include "ops/quant/fields.h"
#include "ops/quant/problem.h"

namespace spark {
namespace {

// The contracts of a format of records, by dtype of y.
struct Format {
    uint32_t record;
    Contract bf16, f16, f32;
};
constexpr Format FORMATS[] = {
    {SPARK_RECORD_Q8_0, "dequantize_q80_bf16", "dequantize_q80_f16", "dequantize_q80_f32"},
    {SPARK_RECORD_Q4_1, "dequantize_q41_bf16", "dequantize_q41_f16", "dequantize_q41_f32"},
};

long long ll(int64_t value) { return static_cast<long long>(value); }

const Format& format_of(uint32_t record) {
    for (const Format& f : FORMATS) {
        if (f.record == record) return f;
    }
    __builtin_unreachable(); // the forms of op.toml are these
}

} // namespace

spark_status check_dequantize(const Bound& bound, Work& work, Report& report) {
    using namespace dequantize_field;
    constexpr uint32_t FIELDS[] = {X, Y};
    const View &x = bound.view[X], &y = bound.view[Y];
    const spark_quant_form* form = x.quant.form;
    if (form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, X, "x.quant.scheme is 0; %u wanted (SPARK_QUANT_RECORD)",
                                 SPARK_QUANT_RECORD);
    }
    const int64_t n = y.last(0), records = n / form->record_elements;
    if (n % form->record_elements != 0) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, Y,
                                 "y.shape[%u] is %lld; a multiple of %u wanted, since records are whole", y.ndim - 1,
                                 ll(n), form->record_elements);
    }
    int64_t bytes;
    if (__builtin_mul_overflow(records, form->record_bytes, &bytes) || x.last(0) != bytes) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "x.shape[%u] is %lld; wanted %lld records of %s, %lld bytes each, since y.shape[%u] "
                                 "is %lld",
                                 x.ndim - 1, ll(x.last(0)), ll(records), form->name, ll(form->record_bytes), y.ndim - 1,
                                 ll(n));
    }
    Dequantize& p = work.as<Dequantize>();
    p = {};
    p.elem_bytes = y.elem_bits / 8;
    work.empty = y.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, FIELDS, rows, report)) return s;
    int64_t width[] = {bytes, n}; // a weight without gaps is one row
    join_rows(rows, width);
    p.x = rows.tensor[X], p.y = rows.tensor[Y];
    p.n = width[Y], p.rows1 = rows.rows1, p.rows0 = rows.rows0;
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(x, p.x);
    work.facts[QUANT_Y_ALIGN] = row_alignment(y, p.y);
    const Format& format = format_of(form->record);
    work.contract = y.dtype == SPARK_DTYPE_BF16 ? format.bf16 : y.dtype == SPARK_DTYPE_F16 ? format.f16 : format.f32;
    work.flops = static_cast<uint64_t>(y.count) * (format.record == SPARK_RECORD_Q4_1 ? 2 : 1);
    work.bytes = static_cast<uint64_t>(x.count) + static_cast<uint64_t>(y.count) * p.elem_bytes;
    return SPARK_OK;
}

spark_status check_amax(const Bound& bound, Work& work, Report& report) {
    using namespace amax_field;
    constexpr uint32_t FIELDS[] = {X};
    const View &x = bound.view[X], &all = bound.view[ALL];
    Amax& p = work.as<Amax>();
    p = {};
    work.empty = x.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, FIELDS, rows, report)) return s;
    p.x = rows.tensor[X], p.y = bound.view[Y].data, p.all = all.present ? all.data : 0;
    p.n = x.last(0), p.rows1 = rows.rows1, p.rows0 = rows.rows0;
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(x, p.x);
    work.facts[QUANT_Y_ALIGN] = bound.view[Y].alignment();
    constexpr Contract BF16 = "amax_bf16", F16 = "amax_f16", F32 = "amax_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    work.bytes = static_cast<uint64_t>(x.count) * (x.elem_bits / 8) + bound.view[Y].bytes;
    return SPARK_OK;
}

} // namespace spark

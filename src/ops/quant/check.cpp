// SPDX-License-Identifier: Apache-2.0
// spark_dequantize_args -> Dequantize. What the description cannot say: which formats of records there are, how many
// bytes a row of them has, and which row strides the kernels take.
#include <cstring>

#include "ops/common/rows.h"
#include "ops/quant/problem.h"

namespace spark {
namespace {

// Field numbers, in the order of op.toml.
enum Field : uint32_t { X, Y };
constexpr uint32_t FIELDS[] = {X, Y};

constexpr int64_t RECORD_ELEMENTS = 32;

struct Format {
    uint32_t number;
    const char* name;
    int64_t bytes;           // of a record
    Contract bf16, f16, f32; // by dtype of y
};
constexpr Format FORMATS[] = {
    {SPARK_RECORD_Q8_0, "Q8_0", 34, "dequantize_q80_bf16", "dequantize_q80_f16", "dequantize_q80_f32"},
    {SPARK_RECORD_Q4_1, "Q4_1", 20, "dequantize_q41_bf16", "dequantize_q41_f16", "dequantize_q41_f32"},
};

long long ll(int64_t value) { return static_cast<long long>(value); }

// The format that x.quant names; nothing else of it may be set, since the scales stand in the records.
spark_status find_format(spark_quant quant, const Format*& format, Report& report) {
    if (quant.scheme != SPARK_QUANT_RECORD) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, X, "x.quant.scheme is %u; %u wanted (SPARK_QUANT_RECORD)",
                                 raw(quant.scheme), SPARK_QUANT_RECORD);
    }
    for (const Format& f : FORMATS) {
        if (f.number == quant.block[0]) format = &f;
    }
    if (format == nullptr) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_DTYPE, X,
                                 "x.quant.block[0] is %u; wanted the record format %u (Q8_0) or %u (Q4_1)",
                                 quant.block[0], SPARK_RECORD_Q8_0, SPARK_RECORD_Q4_1);
    }
    const spark_quant nothing{};
    quant.scheme = SPARK_QUANT_NONE, quant.block[0] = 0;
    if (memcmp(&quant, &nothing, sizeof quant) != 0) {
        return report.fail_field(SPARK_ERR_INVALID_RESERVED, X,
                                 "x.quant sets more than scheme and block[0]; 0 wanted in all else, since the scales "
                                 "stand in the records");
    }
    return SPARK_OK;
}

} // namespace

spark_status check_dequantize(const Bound& bound, Work& work, Report& report) {
    spark_dequantize_args args;
    memcpy(&args, bound.args, sizeof args);
    const View &x = bound.view[X], &y = bound.view[Y];
    const Format* format = nullptr;
    if (spark_status s = find_format(args.x.quant, format, report)) return s;
    const int64_t n = y.last(0), records = n / RECORD_ELEMENTS;
    if (n % RECORD_ELEMENTS != 0) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, Y,
                                 "y.shape[%u] is %lld; a multiple of 32 wanted, since records are whole", y.ndim - 1,
                                 ll(n));
    }
    int64_t bytes;
    if (__builtin_mul_overflow(records, format->bytes, &bytes) || x.last(0) != bytes) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "x.shape[%u] is %lld; wanted %lld records of %s, %lld bytes each, since y.shape[%u] "
                                 "is %lld",
                                 x.ndim - 1, ll(x.last(0)), ll(records), format->name, ll(format->bytes), y.ndim - 1,
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
    work.facts[DEQ_N] = p.n;
    work.facts[DEQ_ROWS] = p.rows0 * p.rows1;
    work.facts[DEQ_X_ALIGN] = row_alignment(x, p.x);
    work.facts[DEQ_Y_ALIGN] = row_alignment(y, p.y);
    work.contract = y.dtype == SPARK_DTYPE_BF16 ? format->bf16 : y.dtype == SPARK_DTYPE_F16 ? format->f16 : format->f32;
    work.flops = static_cast<uint64_t>(y.count) * (format->number == SPARK_RECORD_Q4_1 ? 2 : 1);
    work.bytes = static_cast<uint64_t>(x.count) + static_cast<uint64_t>(y.count) * p.elem_bytes;
    return SPARK_OK;
}

} // namespace spark

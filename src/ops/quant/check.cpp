// SPDX-License-Identifier: Apache-2.0
// spark_dequantize_args -> Dequantize or Scaled, spark_quantize_args -> Scaled, spark_amax_args -> Amax. What the
// description cannot say: how many bytes a row of records has, and which row strides the kernels take.
#include <cmath>
#include <cstring>

#include "ops/common/rows.h"
#include "ops/quant/fields.h"
#include "ops/quant/problem.h"

namespace spark {
namespace {

// Of three contracts the one for a dtype.
struct Contracts {
    Contract bf16, f16, f32;

    const Contract& of(uint32_t dtype) const {
        return dtype == SPARK_DTYPE_BF16 ? bf16 : dtype == SPARK_DTYPE_F16 ? f16 : f32;
    }
};

// The contracts of a format of records, by dtype of y.
struct Format {
    uint32_t record;
    Contracts contracts;
};
constexpr Format FORMATS[] = {
    {SPARK_RECORD_Q8_0, {"dequantize_q80_bf16", "dequantize_q80_f16", "dequantize_q80_f32"}},
    {SPARK_RECORD_Q4_1, {"dequantize_q41_bf16", "dequantize_q41_f16", "dequantize_q41_f32"}},
};

long long ll(int64_t value) { return static_cast<long long>(value); }

const Format& format_of(uint32_t record) {
    for (const Format& f : FORMATS) {
        if (f.record == record) return f;
    }
    __builtin_unreachable(); // the forms of op.toml are these
}

bool is_mx(const QuantView& quant) { return quant.scale_dtype == SPARK_DTYPE_UE8M0; }

// Where the scale of a block stands, as a tensor of rows of scales. One scale for many rows has the stride 0.
View scales_of(const View& v) {
    View scales = v;
    scales.data = v.quant.scale;
    for (uint32_t d = 0; d < v.ndim; ++d) scales.stride[d] = v.quant.blocks[d] > 1 ? v.quant.stride[d] : 0;
    return scales;
}

// Rows of x and y, and of the scales beside one of them.
spark_status fold_scaled(const ValidatedArgs& bound, uint32_t x, uint32_t y, uint32_t quantised, Scaled& p,
                         Report& report) {
    const View scales = scales_of(bound.view[quantised]);
    const View* views[] = {&bound.view[x], &bound.view[y], &scales};
    const uint32_t leading = scales.ndim - 1, bad = first_unfoldable(views, leading, 2);
    if (bad < std::size(views)) {
        const uint32_t field = bad == 0 ? x : bad == 1 ? y : quantised;
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                                 "the leading dimensions of %s%s do not fold to two row dimensions%s; strides of a "
                                 "packed tensor, or of one slice of it, wanted",
                                 bound.spec->fields[field].name, bad == 2 ? ".quant.scale" : "",
                                 bad == 0 ? "" : " together with those of x");
    }
    const Rows rows = fold_rows(views, leading);
    p.rows0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1, p.rows1 = rows.dims > 1 ? rows.size[0] : 1;
    RowTensor* tensors[] = {&p.x, &p.y, &p.scale};
    for (size_t i = 0; i < std::size(views); ++i) {
        *tensors[i] = {views[i]->data, rows.dims > 1 ? rows.stride[i][0] : 0,
                       rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0};
    }
    p.n = scales.last(0), p.step = scales.last_stride(0);
    return SPARK_OK;
}

void put_facts(const ValidatedArgs& bound, uint32_t x, uint32_t y, const Scaled& p, CheckedOp& work) {
    const View &from = bound.view[x], &to = bound.view[y];
    work.facts[QUANT_N] = p.n;
    work.facts[QUANT_ROWS] = p.rows0 * p.rows1;
    work.facts[QUANT_X_ALIGN] = row_alignment(from, p.x);
    work.facts[QUANT_Y_ALIGN] = row_alignment(to, p.y);
    const QuantView& quant = from.quant.form != nullptr ? from.quant : to.quant;
    work.flops = static_cast<uint64_t>(to.count);
    work.bytes = static_cast<uint64_t>(to.count) * (from.elem_bits + to.elem_bits) / 8 + quant.scale_bytes;
}

spark_status check_scaled_dequantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace dequantize_field;
    constexpr Contracts E4M3 = {"dequantize_e4m3_bf16", "dequantize_e4m3_f16", "dequantize_e4m3_f32"};
    constexpr Contracts MXFP8 = {"dequantize_mxfp8_bf16", "dequantize_mxfp8_f16", "dequantize_mxfp8_f32"};
    const View &x = bound.view[X], &y = bound.view[Y];
    if (x.last(0) != y.last(0)) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "x.shape[%u] is %lld but y.shape[%u] is %lld; %s wants both equal", x.ndim - 1,
                                 ll(x.last(0)), y.ndim - 1, ll(y.last(0)), x.quant.form->name);
    }
    Scaled& p = work.as<Scaled>();
    p = {};
    work.empty = y.count == 0;
    work.contract = (is_mx(x.quant) ? MXFP8 : E4M3).of(y.dtype);
    if (spark_status s = work.empty ? SPARK_OK : fold_scaled(bound, X, Y, X, p, report)) return s;
    put_facts(bound, X, Y, p, work);
    return SPARK_OK;
}

} // namespace

spark_status check_dequantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace dequantize_field;
    constexpr uint32_t FIELDS[] = {X, Y};
    const View &x = bound.view[X], &y = bound.view[Y];
    const spark_quant_form* form = x.quant.form;
    if (form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, X,
                                 "x.quant.scheme is 0; that of a form that spark_op_form lists wanted");
    }
    if (form->scheme != SPARK_QUANT_RECORD) return check_scaled_dequantize(bound, work, report);
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
    work.contract = format.contracts.of(y.dtype);
    work.flops = static_cast<uint64_t>(y.count) * (format.record == SPARK_RECORD_Q4_1 ? 2 : 1);
    work.bytes = static_cast<uint64_t>(x.count) + static_cast<uint64_t>(y.count) * p.elem_bytes;
    return SPARK_OK;
}

spark_status check_quantize(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace quantize_field;
    constexpr Contracts TENSOR = {"quantize_tensor_bf16", "quantize_tensor_f16", "quantize_tensor_f32"};
    constexpr Contracts ROW = {"quantize_row_bf16", "quantize_row_f16", "quantize_row_f32"};
    constexpr Contracts BLOCK = {"quantize_b128_bf16", "quantize_b128_f16", "quantize_b128_f32"};
    constexpr Contracts MXFP8 = {"quantize_mxfp8_bf16", "quantize_mxfp8_f16", "quantize_mxfp8_f32"};
    constexpr const char* RULES[] = {"USUAL", "FLOOR", "RCEIL", "EVEN", "FOUR_OVER_SIX"};
    const auto& args = bound.arguments<spark_quantize_args>();
    const View &x = bound.view[X], &y = bound.view[Y], &amax = bound.view[AMAX];
    const spark_quant_form* form = y.quant.form;
    if (form == nullptr) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, Y,
                                 "y.quant.scheme is 0; that of a form that spark_op_form lists wanted");
    }
    const bool mx = is_mx(y.quant);
    if (args.rule != SPARK_SCALE_RULE_USUAL && !(mx && args.rule == SPARK_SCALE_RULE_FLOOR)) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED, RULE, "rule is %s, which %s does not do; USUAL wanted",
                                 RULES[args.rule], form->name);
    }
    if (!(args.amax_floor >= 0) || std::isinf(args.amax_floor) || (mx && args.amax_floor != 0)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, AMAX_FLOOR, "amax_floor is %g; %s wanted",
                                 static_cast<double>(args.amax_floor), mx ? "0" : "a finite number from 0");
    }
    if (amax.present && form->scheme != SPARK_QUANT_PER_TENSOR) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, AMAX,
                                 "amax is given, but scales of %s follow from its own blocks; absent wanted",
                                 form->name);
    }
    Scaled& p = work.as<Scaled>();
    p = {};
    work.empty = y.count == 0;
    const uint32_t scheme = form->scheme;
    const Contracts& contracts = scheme == SPARK_QUANT_PER_TENSOR ? TENSOR
                                 : scheme == SPARK_QUANT_PER_ROW  ? ROW
                                 : mx                             ? MXFP8
                                                                  : BLOCK;
    work.contract = contracts.of(x.dtype);
    if (spark_status s = work.empty ? SPARK_OK : fold_scaled(bound, X, Y, Y, p, report)) return s;
    p.amax = amax.present ? amax.data : 0;
    p.amax_floor = args.amax_floor;
    p.whole_rows = scheme == SPARK_QUANT_PER_ROW;
    put_facts(bound, X, Y, p, work);
    return SPARK_OK;
}

spark_status check_amax(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
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
    constexpr Contracts AMAX = {"amax_bf16", "amax_f16", "amax_f32"};
    work.contract = AMAX.of(x.dtype);
    work.bytes = static_cast<uint64_t>(x.count) * (x.elem_bits / 8) + bound.view[Y].bytes;
    return SPARK_OK;
}

} // namespace spark

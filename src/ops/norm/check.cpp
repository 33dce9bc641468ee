// SPDX-License-Identifier: Apache-2.0
// spark_rmsnorm_args, spark_l2norm_args and spark_layernorm_args -> RowNorm. What the descriptions cannot say: eps,
// which row strides the kernels take, and that codes have scales. The three are one problem with one set of kernels:
// what differs is the factor of the sum of squares, 1/n or 1, whether the mean is taken away first, and a bias. Leading
// dimensions fold to two row dimensions with one stride each per tensor; a layout that does not is refused by name.
#include <algorithm>
#include <cmath>

#include "ops/norm/problem.h"

namespace spark {
namespace {

// A tensor of rows: its field number, where it goes, and the fact of its alignment.
struct RowField {
    uint32_t field;
    RowTensor RowNorm::*to;
    NormFact align;
};

namespace rms {
using namespace rmsnorm_field;
constexpr RowField ROWS[] = {{X, &RowNorm::x, NORM_X_ALIGN},
                             {RESIDUAL, &RowNorm::residual, NORM_RESIDUAL_ALIGN},
                             {Y, &RowNorm::y, NORM_Y_ALIGN},
                             {RESIDUAL_OUT, &RowNorm::residual_out, NORM_RESIDUAL_OUT_ALIGN}};
} // namespace rms

namespace l2 {
using namespace l2norm_field;
constexpr RowField ROWS[] = {{X, &RowNorm::x, NORM_X_ALIGN}, {Y, &RowNorm::y, NORM_Y_ALIGN}};
} // namespace l2

namespace layer {
using namespace layernorm_field;
constexpr RowField ROWS[] = {{X, &RowNorm::x, NORM_X_ALIGN},
                             {RESIDUAL, &RowNorm::residual, NORM_RESIDUAL_ALIGN},
                             {Y, &RowNorm::y, NORM_Y_ALIGN},
                             {RESIDUAL_OUT, &RowNorm::residual_out, NORM_RESIDUAL_OUT_ALIGN}};
} // namespace layer

// The field of y, if it is one of codes; else NO_FIELD.
uint32_t coded_field(const ValidatedArgs& bound, std::span<const RowField> fields) {
    for (const RowField& f : fields) {
        if (f.to == &RowNorm::y && bound.view[f.field].quant.form != nullptr) return f.field;
    }
    return NO_FIELD;
}

spark_status fill_rows(const ValidatedArgs& bound, std::span<const RowField> fields, RowNorm& p, int64_t* facts,
                       Report& report) {
    uint32_t numbers[MAX_ROW_TENSORS];
    const RowField* present[MAX_ROW_TENSORS];
    uint32_t count = 0;
    for (const RowField& f : fields) {
        if (bound.view[f.field].present) present[count] = &f, numbers[count++] = f.field;
    }
    RowSet rows;
    const std::span<const uint32_t> all{numbers, count};
    if (p.coded) {
        const uint32_t y = coded_field(bound, fields);
        if (spark_status s = fold_coded(bound, all, y, p.codes, rows.tensor, report)) return s;
        rows.rows0 = p.codes.rows_scaled, rows.rows1 = p.codes.rows1;
        p.kind = coded_kind(bound.view[y].quant);
    } else if (spark_status s = fold_to_two(bound, all, rows, report)) {
        return s;
    }
    p.rows0 = rows.rows0, p.rows1 = rows.rows1;
    for (uint32_t i = 0; i < count; ++i) {
        p.*present[i]->to = rows.tensor[i];
        facts[present[i]->align] = row_alignment(bound.view[numbers[i]], rows.tensor[i]);
    }
    return SPARK_OK;
}

Contract contract_of(const View& x, bool coded) {
    constexpr Contract BF16 = "norm_bf16", F16 = "norm_f16", F32 = "norm_f32", CODES = "norm_codes";
    if (coded) return CODES;
    return x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
}

// What all have: rows of x, eps, the facts, and the contract, which the dtypes of x and y decide.
spark_status fill_common(const ValidatedArgs& bound, std::span<const RowField> fields, float eps, uint32_t eps_field,
                         CheckedOp& work, Report& report) {
    if (!std::isfinite(eps) || eps < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, eps_field, "eps is %g; finite and 0 or more wanted",
                                 static_cast<double>(eps));
    }
    for (const RowField& f : fields) {
        if (f.to != &RowNorm::y) continue;
        if (spark_status s = check_form(bound, fields[0].field, f.field, report)) return s;
    }
    const View& x = bound.view[fields[0].field];
    const uint32_t coded = coded_field(bound, fields);
    RowNorm& p = work.as<RowNorm>();
    p = {};
    p.coded = coded != NO_FIELD;
    p.codes.dtype = x.dtype;
    for (uint32_t f = NORM_X_ALIGN; f < NORM_FACTS; ++f) work.facts[f] = 256;
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_rows(bound, fields, p, work.facts, report)) return s;
    p.n = x.last(0);
    p.eps = eps;
    p.flags = bound.flags;
    work.facts[NORM_N] = p.n;
    work.facts[NORM_ROWS] = p.rows0 * p.rows1;
    work.facts[NORM_PLAIN] = work.facts[NORM_USUAL] = 0;
    work.contract = contract_of(x, p.coded);
    work.bytes = p.coded ? bound.view[coded].quant.scale_bytes : 0;
    for (uint32_t i = 0; i < bound.spec->desc->num_fields; ++i) {
        const View& v = bound.view[i];
        if (v.present) work.bytes += static_cast<uint64_t>(v.count) * (v.elem_bits / 8);
    }
    return SPARK_OK;
}

// A vector of the columns, weight or bias: its address, whether it is F32, its alignment. Absent: 0.
void fill_vector(const View& v, spark_devptr& data, bool& is_f32, int64_t& align) {
    data = v.present ? v.data : 0;
    is_f32 = v.present && v.dtype == SPARK_DTYPE_F32;
    if (v.present) align = v.alignment();
}

// Rows as norm.codes_kept.ptx has them: with a weight of their type and nothing that is rare, at one distance, scales
// too, and so many that no kernel would share them among more warps.
bool is_usual(const RowNorm& p) {
    constexpr uint32_t RARE = SPARK_RMSNORM_ROUND_BEFORE_WEIGHT | SPARK_RMSNORM_WEIGHT_PLUS_ONE;
    const ScalePlaces& scale = p.codes.scale;
    const bool bias = p.centre ? p.bias != 0 && !p.bias_f32 : p.bias == 0;
    const bool line = p.codes.rows1 == 1 && scale.quarter == scale.row * 32 && scale.tile == scale.row * 128;
    const auto is_near = [](int64_t stride, int64_t most) { return stride >= 0 && stride <= most; };
    constexpr int64_t FAR = INT32_MAX / 4, ALONG = 8192;
    const bool near = is_near(p.x.inner, FAR) && is_near(p.y.inner, FAR) && is_near(scale.row, FAR) &&
                      is_near(scale.four, FAR) && is_near(scale.step, FAR) && p.n <= ALONG &&
                      (scale.four + scale.step) * p.n < UINT16_MAX;
    const bool whole = p.codes.n_scaled == p.n && p.codes.rows_scaled == p.codes.rows0;
    return p.coded && p.codes.dtype == SPARK_DTYPE_BF16 && p.weight != 0 && !p.weight_f32 && bias &&
           p.residual.data == 0 && (p.flags & RARE) == 0 && line && near && whole &&
           !are_halved(p.codes, p.kind, HALF_TURN, CODED_WARPS);
}

float one_over(int64_t n) { return static_cast<float>(1.0 / static_cast<double>(std::max<int64_t>(n, 1))); }

} // namespace

spark_status check_rmsnorm(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace rms;
    const auto& args = bound.arguments<spark_rmsnorm_args>();
    if (spark_status s = fill_common(bound, ROWS, args.eps, EPS, work, report)) return s;
    RowNorm& p = work.as<RowNorm>();
    p.scale = one_over(p.n);
    work.facts[NORM_PLAIN] = p.residual.data == 0;
    fill_vector(bound.view[WEIGHT], p.weight, p.weight_f32, work.facts[NORM_WEIGHT_ALIGN]);
    work.facts[NORM_USUAL] = is_usual(p);
    work.flops = 4 * static_cast<uint64_t>(bound.view[X].count);
    return SPARK_OK;
}

spark_status check_layernorm(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace layer;
    const auto& args = bound.arguments<spark_layernorm_args>();
    if (spark_status s = fill_common(bound, ROWS, args.eps, EPS, work, report)) return s;
    RowNorm& p = work.as<RowNorm>();
    p.scale = one_over(p.n);
    p.centre = true;
    fill_vector(bound.view[WEIGHT], p.weight, p.weight_f32, work.facts[NORM_WEIGHT_ALIGN]);
    fill_vector(bound.view[BIAS], p.bias, p.bias_f32, work.facts[NORM_BIAS_ALIGN]);
    work.facts[NORM_USUAL] = is_usual(p);
    work.flops = 7 * static_cast<uint64_t>(bound.view[X].count);
    return SPARK_OK;
}

spark_status check_l2norm(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    using namespace l2;
    const auto& args = bound.arguments<spark_l2norm_args>();
    if (spark_status s = fill_common(bound, ROWS, args.eps, EPS, work, report)) return s;
    work.as<RowNorm>().scale = 1;
    work.facts[NORM_PLAIN] = 1;
    work.flops = 3 * static_cast<uint64_t>(bound.view[X].count);
    return SPARK_OK;
}

} // namespace spark

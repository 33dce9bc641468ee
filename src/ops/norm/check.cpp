// SPDX-License-Identifier: Apache-2.0
// spark_rmsnorm_args -> RmsNorm. What the description cannot say: eps, and which row strides the kernels take.
#include <algorithm>
#include <cmath>

#include "ops/common/rows.h"
#include "ops/norm/problem.h"

namespace spark {
namespace {

// Field numbers, in the order of op.toml.
enum Field : uint32_t { X, WEIGHT, RESIDUAL, Y, RESIDUAL_OUT, EPS };
constexpr uint32_t ROW_FIELDS[] = {X, RESIDUAL, Y, RESIDUAL_OUT}; // in the order of their facts

int64_t low_bit(int64_t value) { return value == 0 ? 256 : value & -value; }

// Bytes that every row of the tensor is aligned to.
int64_t row_alignment(const View& v, const RowTensor& rows) {
    int64_t bytes = v.elem_bits / 8;
    return std::min(v.alignment(), std::min(low_bit(rows.outer * bytes), low_bit(rows.inner * bytes)));
}

spark_status fill_rows(const Bound& bound, RmsNorm& p, int64_t* facts, Report& report) {
    const View* views[4];
    uint32_t fields[4], count = 0, leading = bound.view[X].ndim - 1;
    for (uint32_t f : ROW_FIELDS) {
        if (bound.view[f].present) fields[count] = f, views[count++] = &bound.view[f];
    }
    uint32_t bad = first_unfoldable({views, count}, leading, 2);
    if (bad < count) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, fields[bad],
                                 "the leading dimensions of %s do not fold to two "
                                 "row dimensions%s; strides of a packed tensor, or of one slice of it, wanted",
                                 bound.spec->desc->fields[fields[bad]].name,
                                 bad > 0 ? " together with those of x" : "");
    }
    Rows rows = fold_rows({views, count}, leading);
    p.rows0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    p.rows1 = rows.dims > 1 ? rows.size[0] : 1;
    RowTensor* targets[] = {&p.x, &p.residual, &p.y, &p.residual_out};
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t slot = 0;
        while (ROW_FIELDS[slot] != fields[i]) ++slot;
        RowTensor& t = *targets[slot];
        t.data = views[i]->data;
        t.inner = rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0;
        t.outer = rows.dims > 1 ? rows.stride[i][0] : 0;
        facts[NORM_X_ALIGN + slot] = row_alignment(*views[i], t);
    }
    return SPARK_OK;
}

} // namespace

spark_status check_rmsnorm(const Bound& bound, Work& work, Report& report) {
    spark_rmsnorm_args args;
    memcpy(&args, bound.args, sizeof args);
    const View &x = bound.view[X], &weight = bound.view[WEIGHT];
    if (!std::isfinite(args.eps) || args.eps < 0) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, EPS, "eps is %g; finite and 0 or more wanted",
                                 static_cast<double>(args.eps));
    }
    RmsNorm& p = work.as<RmsNorm>();
    p = {};
    for (uint32_t f = NORM_X_ALIGN; f < NORM_FACTS; ++f) work.facts[f] = 256;
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_rows(bound, p, work.facts, report)) return s;
    p.n = x.last(0);
    p.eps = args.eps;
    p.flags = bound.flags;
    p.weight = weight.present ? weight.data : 0;
    p.weight_f32 = weight.present && weight.dtype == SPARK_DTYPE_F32;

    work.facts[NORM_N] = p.n;
    work.facts[NORM_ROWS] = p.rows0 * p.rows1;
    if (weight.present) work.facts[NORM_WEIGHT_ALIGN] = weight.alignment();
    uint64_t count = static_cast<uint64_t>(x.count), elem = x.elem_bits / 8;
    uint64_t tensors = 2u + bound.view[RESIDUAL].present + bound.view[RESIDUAL_OUT].present;
    work.flops = 4 * count;
    work.bytes = tensors * count * elem + (weight.present ? weight.bytes : 0);
    constexpr Contract BF16 = "rmsnorm_bf16", F16 = "rmsnorm_f16", F32 = "rmsnorm_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    return SPARK_OK;
}

} // namespace spark

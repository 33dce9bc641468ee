// SPDX-License-Identifier: Apache-2.0
// spark_softmax_args -> Softmax. What the description cannot say: scale, and which row strides the kernels take.
#include <algorithm>
#include <cmath>

#include "ops/common/rows.h"
#include "ops/softmax/problem.h"

namespace spark {
namespace {

// Field numbers, in the order of op.toml.
enum Field : uint32_t { X, Y, SCALE };

int64_t low_bit(int64_t value) { return value == 0 ? 256 : value & -value; }

int64_t row_alignment(const View& v, const Softmax::Side& side) {
    int64_t bytes = v.elem_bits / 8;
    return std::min({v.alignment(), low_bit(side.outer * bytes), low_bit(side.inner * bytes)});
}

spark_status fill_rows(const View& x, const View& y, Softmax& p, Report& report) {
    const View* views[] = {&x, &y};
    uint32_t bad = first_unfoldable(views, y.ndim - 1, 2);
    if (bad < 2) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, bad,
                                 "the leading dimensions of %s do not fold to two row dimensions%s; strides of a "
                                 "packed tensor, or of one slice of it, wanted",
                                 bad == X ? "x" : "y", bad == Y ? " together with those of x" : "");
    }
    Rows rows = fold_rows(views, y.ndim - 1);
    p.rows0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    p.rows1 = rows.dims > 1 ? rows.size[0] : 1;
    for (uint32_t i : {X, Y}) {
        (i == X ? p.x : p.y) = {views[i]->data, rows.dims > 1 ? rows.stride[i][0] : 0,
                                rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0};
    }
    return SPARK_OK;
}

} // namespace

spark_status check_softmax(const Bound& bound, Work& work, Report& report) {
    spark_softmax_args args;
    memcpy(&args, bound.args, sizeof args);
    if (!(std::fabs(args.scale) <= 0x1p126f)) { // so that it stays finite when the base changes to 2
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SCALE, "scale is %g; at most 2^126 in magnitude wanted",
                                 static_cast<double>(args.scale));
    }
    const View& x = bound.view[X];
    Softmax& p = work.as<Softmax>();
    p = {};
    p.n = x.last(0);
    p.scale = args.scale == 0 ? 1 : args.scale;
    p.flags = bound.flags;
    work.empty = x.count == 0;
    if (spark_status s = work.empty ? SPARK_OK : fill_rows(x, bound.view[Y], p, report)) return s;
    work.facts[SOFTMAX_N] = p.n;
    work.facts[SOFTMAX_ROWS] = p.rows0 * p.rows1;
    work.facts[SOFTMAX_X_ALIGN] = row_alignment(x, p.x);
    work.facts[SOFTMAX_Y_ALIGN] = row_alignment(bound.view[Y], p.y);
    constexpr Contract BF16 = "softmax_bf16", F16 = "softmax_f16", F32 = "softmax_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    uint64_t count = static_cast<uint64_t>(x.count);
    work.flops = 5 * count;
    work.bytes = 2 * count * (x.elem_bits / 8);
    return SPARK_OK;
}

} // namespace spark

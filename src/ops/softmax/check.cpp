// SPDX-License-Identifier: Apache-2.0
// spark_softmax_args -> Softmax. What the description cannot say: scale, and which row strides the kernels take.
#include <cmath>

#include "ops/common/rows.h"
#include "ops/softmax/problem.h"

namespace spark {
namespace {

using namespace softmax_field;
constexpr uint32_t FIELDS[] = {X, Y};

} // namespace

spark_status check_softmax(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_softmax_args>();
    if (!(std::fabs(args.scale) <= 0x1p126f)) { // so that it stays finite when the base changes to 2
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SCALE, "scale is %g; at most 2^126 in magnitude wanted",
                                 static_cast<double>(args.scale));
    }
    const View& x = bound.view[X];
    Softmax& p = work.as<Softmax>();
    p = {};
    p.n = x.last(0);
    p.scale = args.scale == 0 ? SMALLEST_SCALE : args.scale;
    p.flags = bound.flags;
    work.empty = x.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, FIELDS, rows, report)) return s;
    p.x = rows.tensor[X], p.y = rows.tensor[Y];
    p.rows1 = rows.rows1, p.rows0 = rows.rows0;
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

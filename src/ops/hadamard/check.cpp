// SPDX-License-Identifier: Apache-2.0
// spark_hadamard_args -> Hadamard. What the description cannot say: which sizes there are, and scale. Leading
// dimensions fold to two row dimensions, and rows without gaps join into one long row, whose blocks are theirs.
#include <bit>
#include <cmath>
#include <cstring>

#include "ops/hadamard/problem.h"

namespace spark {
namespace {

using namespace hadamard_field;
constexpr uint32_t ROW_FIELDS[] = {X, Y}, LEAST = 16, MOST = 256;

spark_status check_size(const ValidatedArgs& bound, uint32_t size, Report& report) {
    if (!std::has_single_bit(size) || size < LEAST || size > MOST) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SIZE, "size is %u; 16, 32, 64, 128 or 256 wanted", size);
    }
    const int64_t n = bound.view[X].last(0);
    if (n % size != 0) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, X,
                                 "rows of x have %lld elements; a multiple of size, %u, wanted",
                                 static_cast<long long>(n), size);
    }
    const View& signs = bound.view[SIGNS];
    if (signs.present && signs.count != size) {
        return report.fail_field(SPARK_ERR_INVALID_SHAPE, SIGNS, "signs has %lld elements; size, %u, wanted",
                                 static_cast<long long>(signs.count), size);
    }
    return SPARK_OK;
}

} // namespace

spark_status check_hadamard(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const auto& args = bound.arguments<spark_hadamard_args>();
    const View &x = bound.view[X], &signs = bound.view[SIGNS];
    if (spark_status s = check_size(bound, args.size, report)) return s;
    if (!std::isfinite(args.scale)) {
        return report.fail_field(SPARK_ERR_INVALID_VALUE, SCALE, "scale is %g; a finite number wanted",
                                 static_cast<double>(args.scale));
    }
    Hadamard& p = work.as<Hadamard>();
    p = {};
    p.n = x.last(0);
    p.size = args.size;
    p.scale = bound.is_default(SCALE) ? static_cast<float>(1 / std::sqrt(static_cast<double>(p.size))) : args.scale;
    p.signs = signs.present ? signs.data : 0;
    p.signs_after = (bound.flags & SPARK_HADAMARD_SIGNS_AFTER) != 0;
    work.empty = x.count == 0;
    RowSet rows{};
    if (spark_status s = work.empty ? SPARK_OK : fold_to_two(bound, ROW_FIELDS, rows, report)) return s;
    int64_t width[] = {p.n, p.n};
    join_rows(rows, width);
    p.n = width[0];
    p.x = rows.tensor[0], p.y = rows.tensor[1];
    p.rows0 = rows.rows0, p.rows1 = rows.rows1;
    work.facts[HADAMARD_N] = p.n;
    work.facts[HADAMARD_ROWS] = p.rows0 * p.rows1;
    work.facts[HADAMARD_X_ALIGN] = row_alignment(x, p.x);
    work.facts[HADAMARD_SIGNS_ALIGN] = signs.present ? signs.alignment() : 256;
    work.facts[HADAMARD_Y_ALIGN] = row_alignment(bound.view[Y], p.y);
    constexpr Contract BF16 = "hadamard_bf16", F16 = "hadamard_f16", F32 = "hadamard_f32";
    work.contract = x.dtype == SPARK_DTYPE_BF16 ? BF16 : x.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    const auto count = static_cast<uint64_t>(x.count);
    work.flops = count * static_cast<uint64_t>(std::countr_zero(p.size) + 1);
    work.bytes = 2 * count * (x.elem_bits / 8);
    return SPARK_OK;
}

} // namespace spark

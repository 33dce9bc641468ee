// SPDX-License-Identifier: Apache-2.0
// spark_embedding_args -> Embedding. What the description cannot say: one row stride for y, and who counts refusals.
// The contract is the size of an element, since rows are copied bit by bit.
#include <algorithm>

#include "ops/common/rows.h"
#include "ops/embedding/problem.h"

namespace spark {
namespace {

using namespace embedding_field;

int64_t row_alignment(const View& v, int64_t stride, int64_t elem_bytes) {
    int64_t bytes = stride * elem_bytes;
    return bytes == 0 ? v.alignment() : std::min(v.alignment(), bytes & -bytes);
}

} // namespace

spark_status check_embedding(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const View &table = bound.view[TABLE], &ids = bound.view[IDS], &y = bound.view[Y],
               &invalid = bound.view[INVALID_COUNT];
    Embedding& p = work.as<Embedding>();
    p = {};
    p.zero_invalid = (bound.flags & SPARK_EMBEDDING_ZERO_INVALID) != 0;
    if (!p.zero_invalid && !invalid.present) {
        return report.fail_field(SPARK_ERR_INVALID_NULL, INVALID_COUNT,
                                 "invalid_count is absent; wanted, since the flag "
                                 "ZERO_INVALID is not set and a refused index would go unseen");
    }
    const View* views[] = {&y};
    Rows rows = fold_rows(views, y.ndim - 1);
    if (rows.dims > 1 && y.count != 0) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, Y,
                                 "the leading dimensions of y do not fold to one row "
                                 "dimension; evenly spaced rows wanted");
    }
    int64_t elem_bytes = table.elem_bits / 8;
    p.table = table.data, p.ids = ids.data, p.y = y.data;
    p.invalid_count = invalid.present ? invalid.data : 0;
    p.rows = table.shape[0], p.width = table.shape[1], p.count = ids.count;
    p.table_stride = p.rows > 1 ? table.stride[0] : p.width;
    p.y_stride = rows.dims > 0 ? rows.stride[0][0] : p.width;
    p.ids64 = ids.dtype == SPARK_DTYPE_I64;
    p.elem_bytes = static_cast<uint32_t>(elem_bytes);
    work.empty = y.count == 0;

    int64_t facts[EMBEDDING_FACTS] = {p.width,
                                      p.rows,
                                      p.count,
                                      p.width * elem_bytes,
                                      row_alignment(table, p.table_stride, elem_bytes),
                                      row_alignment(y, p.y_stride, elem_bytes)};
    memcpy(work.facts, facts, sizeof facts);
    work.bytes = ids.bytes + 2 * static_cast<uint64_t>(y.count) * static_cast<uint64_t>(elem_bytes);
    constexpr Contract B16 = "embedding_b16", B32 = "embedding_b32";
    work.contract = elem_bytes == 2 ? B16 : B32;
    return SPARK_OK;
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// spark_merge_states_args -> Merge. What the description cannot say: that more comes with its logarithm. Dimensions
// over which all tensors step evenly join.
#include <algorithm>

#include "ops/common/rows.h"
#include "ops/merge/problem.h"

namespace spark {
namespace {

using namespace merge_states_field;
constexpr uint32_t FIELDS[] = {X, X_LSE, MORE, MORE_LSE, Y, Y_LSE};

// Rows of a tensor, without the dimension of the parts.
View rows_of(const ValidatedArgs& bound, uint32_t field) {
    View v = bound.view[field];
    if (field == X || field == X_LSE) {
        std::copy(v.shape + 1, v.shape + v.ndim, v.shape);
        std::copy(v.stride + 1, v.stride + v.ndim, v.stride);
        --v.ndim;
    }
    return v;
}

// What present tensors have in their rows' places; absent ones stay 0. The last dimensions are the joined ones.
void find_rows(const ValidatedArgs& bound, Merge& p) {
    MergeTensor* const tensors[] = {&p.x, &p.x_lse, &p.more, &p.more_lse, &p.y, &p.y_lse};
    View views[std::size(FIELDS)];
    const View* present[std::size(FIELDS)];
    MergeTensor* places[std::size(FIELDS)];
    size_t count = 0;
    for (size_t i = 0; i < std::size(FIELDS); ++i) {
        if (!bound.view[FIELDS[i]].present) continue;
        views[i] = rows_of(bound, FIELDS[i]);
        present[count] = &views[i], places[count++] = tensors[i];
    }
    const Rows rows = fold_rows({present, count}, MERGE_DIMS);
    const uint32_t first = MERGE_DIMS - rows.dims;
    std::fill_n(p.size, MERGE_DIMS, 1);
    std::copy_n(rows.size, rows.dims, p.size + first);
    for (size_t i = 0; i < count; ++i) {
        places[i]->data = present[i]->data;
        std::copy_n(rows.stride[i], rows.dims, places[i]->stride + first);
    }
}

int64_t alignment(const View& v, const MergeTensor& rows, int64_t part) {
    int64_t bytes = std::min(v.alignment(), low_bit(part, v.elem_bits));
    for (const int64_t stride : rows.stride) bytes = std::min(bytes, low_bit(stride, v.elem_bits));
    return bytes;
}

} // namespace

spark_status check_merge_states(const ValidatedArgs& bound, CheckedOp& work, Report& report) {
    const View &x = bound.view[X], &more = bound.view[MORE], &y = bound.view[Y];
    if (more.present && !bound.view[MORE_LSE].present) {
        return report.fail_field(SPARK_ERR_INVALID_NULL, MORE_LSE, "more_lse is absent; wanted with more");
    }
    Merge& p = work.as<Merge>();
    p = {};
    p.d = y.last(0);
    p.parts = x.shape[0];
    p.elem_bytes = y.elem_bits / 8;
    p.x_part = p.parts > 1 ? x.stride[0] : 0;
    p.lse_part = p.parts > 1 ? bound.view[X_LSE].stride[0] : 0;
    constexpr Contract BF16 = "merge_states_bf16", F16 = "merge_states_f16", F32 = "merge_states_f32";
    work.contract = y.dtype == SPARK_DTYPE_BF16 ? BF16 : y.dtype == SPARK_DTYPE_F16 ? F16 : F32;
    work.empty = y.count == 0 && bound.view[Y_LSE].count == 0; // else the validator has bounded the rows
    if (work.empty) return SPARK_OK;
    find_rows(bound, p);
    work.facts[MERGE_D] = p.d;
    work.facts[MERGE_ROWS] = p.size[0] * p.size[1] * p.size[2];
    work.facts[MERGE_PARTS] = p.parts;
    work.facts[MERGE_X_ALIGN] = alignment(x, p.x, p.x_part);
    work.facts[MERGE_MORE_ALIGN] = more.present ? alignment(more, p.more, 0) : 256;
    work.facts[MERGE_Y_ALIGN] = alignment(y, p.y, 0);
    const auto states = static_cast<uint64_t>(p.parts + more.present), count = static_cast<uint64_t>(y.count);
    const auto rows = static_cast<uint64_t>(work.facts[MERGE_ROWS]);
    work.flops = 2 * states * count;
    work.bytes = (states + 1) * (count * p.elem_bytes + rows * sizeof(float));
    return SPARK_OK;
}

} // namespace spark

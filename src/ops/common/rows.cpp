// SPDX-License-Identifier: Apache-2.0
// Folding of leading dimensions.
#include "ops/common/rows.h"

#include <algorithm>

namespace spark {

Rows fold_rows(std::span<const View* const> views, uint32_t leading) {
    Rows rows{};
    for (uint32_t d = 0; d < leading; ++d) {
        int64_t size = views[0]->shape[d];
        if (size == 1) continue;
        bool merge = rows.dims > 0;
        for (size_t v = 0; v < views.size() && merge; ++v) {
            merge = rows.stride[v][rows.dims - 1] == views[v]->stride[d] * size;
        }
        uint32_t at = merge ? rows.dims - 1 : rows.dims++;
        rows.size[at] = merge ? rows.size[at] * size : size;
        for (size_t v = 0; v < views.size(); ++v) rows.stride[v][at] = views[v]->stride[d];
    }
    return rows;
}

uint32_t first_unfoldable(std::span<const View* const> views, uint32_t leading, uint32_t most) {
    for (uint32_t i = 0; i < views.size(); ++i) {
        if (fold_rows(views.first(i + 1), leading).dims > most) return i;
    }
    return static_cast<uint32_t>(views.size());
}

int64_t row_alignment(const View& v, const RowTensor& rows) {
    return std::min({v.alignment(), low_bit(rows.outer, v.elem_bits), low_bit(rows.inner, v.elem_bits)});
}

spark_status fold_to_two(const ValidatedArgs& bound, std::span<const uint32_t> fields, RowSet& out, Report& report) {
    const View* views[MAX_ROW_TENSORS];
    uint32_t count = static_cast<uint32_t>(fields.size());
    for (uint32_t i = 0; i < count; ++i) views[i] = &bound.view[fields[i]];
    std::span<const spark_field> names = bound.spec->fields;
    uint32_t leading = views[0]->ndim - 1, bad = first_unfoldable({views, count}, leading, 2);
    if (bad < count) {
        return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, fields[bad],
                                 "the leading dimensions of %s do not fold to two row dimensions%s%s; strides of a "
                                 "packed tensor, or of one slice of it, wanted",
                                 names[fields[bad]].name, bad > 0 ? " together with those of " : "",
                                 bad > 0 ? names[fields[0]].name : "");
    }
    Rows rows = fold_rows({views, count}, leading);
    out.rows0 = rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    out.rows1 = rows.dims > 1 ? rows.size[0] : 1;
    for (uint32_t i = 0; i < count; ++i) {
        out.tensor[i] = {views[i]->data, rows.dims > 1 ? rows.stride[i][0] : 0,
                         rows.dims > 0 ? rows.stride[i][rows.dims - 1] : 0};
    }
    return SPARK_OK;
}

void join_rows(RowSet& rows, std::span<int64_t> width) {
    for (int level = 0; level < 2 && rows.rows0 > 1; ++level) {
        for (size_t i = 0; i < width.size(); ++i) {
            if (rows.tensor[i].inner != width[i]) return;
        }
        for (size_t i = 0; i < width.size(); ++i) {
            width[i] *= rows.rows0;
            rows.tensor[i].inner = rows.tensor[i].outer, rows.tensor[i].outer = 0;
        }
        rows.rows0 = rows.rows1, rows.rows1 = 1;
    }
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Folding of leading dimensions.
#include "ops/common/rows.h"

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

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// spark_cast_args -> Cast. There is nothing left to refuse: this finds the order in which y lies in memory, and the
// fewest dimensions that describe the copy, innermost first: a packed copy has one, a transposition two.
#include <algorithm>

#include "ops/common/rows.h"
#include "ops/convert/problem.h"

namespace spark {
namespace {

using namespace cast_field;

// The dimensions of both, outermost first by the stride of y (of x where those are equal, as with sizes of 1).
void sort_dimensions(View& x, View& y) {
    for (uint32_t end = y.ndim; end > 1; --end) {
        for (uint32_t d = 1; d < end; ++d) {
            bool later = y.stride[d - 1] != y.stride[d] ? y.stride[d - 1] < y.stride[d] : x.stride[d - 1] < x.stride[d];
            if (!later) continue;
            for (View* v : {&x, &y}) {
                std::swap(v->shape[d - 1], v->shape[d]);
                std::swap(v->stride[d - 1], v->stride[d]);
            }
        }
    }
}

// Of the address and all strides but that of dimension `unit`, whose elements are neighbours.
int64_t alignment(const View& v, const int64_t* stride, uint32_t dims, uint32_t unit) {
    int64_t all = v.alignment();
    for (uint32_t d = 0; d < dims; ++d) {
        if (d != unit) all = std::min(all, low_bit(stride[d], v.elem_bits));
    }
    return all;
}

Contract contract_of(uint32_t from, uint32_t to) {
    constexpr Contract TABLE[3][3] = {{"cast_bf16_bf16", "cast_bf16_f16", "cast_bf16_f32"},
                                      {"cast_f16_bf16", "cast_bf16_bf16", "cast_f16_f32"},
                                      {"cast_f32_bf16", "cast_f32_f16", "cast_f32_f32"}};
    const auto place = [](uint32_t dtype) { return dtype == SPARK_DTYPE_BF16 ? 0 : dtype == SPARK_DTYPE_F16 ? 1 : 2; };
    return TABLE[place(from)][place(to)];
}

} // namespace

spark_status check_cast(const ValidatedArgs& bound, CheckedOp& work, Report&) {
    View x = bound.view[X], y = bound.view[Y];
    work.empty = y.count == 0;
    work.contract = contract_of(x.dtype, y.dtype);
    work.bytes = static_cast<uint64_t>(y.count) * ((x.elem_bits + y.elem_bits) / 8);
    if (work.empty) return SPARK_OK;
    sort_dimensions(x, y);
    const View* views[] = {&x, &y};
    Rows rows = fold_rows(views, y.ndim);
    Cast& p = work.as<Cast>();
    p = {};
    p.x = x.data, p.y = y.data, p.count = y.count, p.dims = rows.dims;
    for (uint32_t d = 0; d < SPARK_MAX_NDIM; ++d) {
        bool there = d < rows.dims;
        uint32_t from = there ? rows.dims - 1 - d : 0;
        p.size[d] = there ? rows.size[from] : 1;
        p.x_stride[d] = there ? rows.stride[X][from] : d == 0;
        p.y_stride[d] = there ? rows.stride[Y][from] : d == 0;
    }
    work.facts[CONVERT_RUN] = p.x_stride[0] == 1 && p.y_stride[0] == 1 ? p.size[0] : 1;
    work.facts[CONVERT_SAME] = of_one_number(p) ? p.size[0] : 1;
    const uint32_t turned = turned_dimension(p);
    work.facts[CONVERT_TURNED] = turned != 0 ? std::min(p.size[0], p.size[turned]) : 1;
    work.facts[CONVERT_INDEX_BITS] = p.count <= UINT32_MAX ? 32 : 64;
    work.facts[CONVERT_X_ALIGN] = alignment(x, p.x_stride, p.dims, 0);
    work.facts[CONVERT_Y_ALIGN] = alignment(y, p.y_stride, p.dims, 0);
    const bool eights = turned != 0 && p.size[0] % 8 == 0 && p.size[turned] % 8 == 0 &&
                        alignment(x, p.x_stride, p.dims, turned) >= 16 && work.facts[CONVERT_Y_ALIGN] >= 16;
    work.facts[CONVERT_TURNED_RUN] = eights ? 8 : 1;
    return SPARK_OK;
}

} // namespace spark

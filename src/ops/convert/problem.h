// SPDX-License-Identifier: Apache-2.0
// The checked copy, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

namespace spark {

// dims dimensions, innermost first and ordered by the strides of y; those that could be merged are. From dims on the
// size is 1. Strides in elements.
struct Cast {
    spark_devptr x, y;
    uint32_t dims;
    int64_t count;
    int64_t size[SPARK_MAX_NDIM], x_stride[SPARK_MAX_NDIM], y_stride[SPARK_MAX_NDIM];
};

// run: how many neighbours of the innermost dimension are neighbours in both tensors, 1 or all. index_bits: 32 if that
// many number the elements, else 64. NAME_align: the largest power of two, at most 256, that divides the address and
// all strides but the innermost in bytes.
enum CastFact : uint32_t { CAST_RUN, CAST_INDEX_BITS, CAST_X_ALIGN, CAST_Y_ALIGN, CAST_FACTS };
constexpr const char* CAST_FACT_NAMES[] = {"run", "index_bits", "x_align", "y_align"};
static_assert(std::size(CAST_FACT_NAMES) == CAST_FACTS);

spark_status check_cast(const Bound& bound, Work& work, Report& report);

} // namespace spark

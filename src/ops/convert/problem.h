// SPDX-License-Identifier: Apache-2.0
// The checked copy.
#pragma once

#include "ops/convert/fields.h"
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

// The dimension whose elements are neighbours in x where those of the innermost are neighbours in y alone; 0: none.
inline uint32_t turned_dimension(const Cast& p) {
    if (p.y_stride[0] != 1 || p.x_stride[0] == 1) return 0;
    uint32_t d = p.dims;
    while (--d != 0 && p.x_stride[d] != 1) {}
    return d;
}

// Whether the elements of the innermost dimension are one number of x, and neighbours in y.
inline bool of_one_number(const Cast& p) { return p.x_stride[0] == 0 && p.y_stride[0] == 1; }

// Adds a copy of numbers of F32 to y on 16 bytes, whose dimensions need not be merged.
void plan_copy(const Cast& p, Plan& calls);
// Adds a copy of a matrix of numbers of 2 or 4 `bytes`, of whole eights each way, that turns it.
void plan_turned(const Cast& p, int64_t bytes, Plan& calls);

} // namespace spark

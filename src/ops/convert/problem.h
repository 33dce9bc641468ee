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

} // namespace spark

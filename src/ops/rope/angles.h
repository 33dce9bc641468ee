// SPDX-License-Identifier: Apache-2.0
// What angles are made of, as operators that rotate heads are told it and kernels take it.
#pragma once

#include "core/status.h"
#include "ops/common/validate.h"

namespace spark {

struct Angles {
    spark_devptr table; // 0 = absent
    int64_t table_rows, table_stride;
    int64_t pairs;  // R / 2
    uint64_t ratio; // of the rates of neighbouring pairs, theta^(-2/R), times 2^64
    bool table_f32;
};

// The numbers of such an operator's fields; heads: the tensor whose last dimension is D.
struct AngleFields {
    uint32_t table, heads, theta, rotary_dim;
};
spark_status check_angles(const ValidatedArgs& bound, const AngleFields& fields, float theta, uint32_t rotary_dim,
                          Angles& out, Report& report);

} // namespace spark

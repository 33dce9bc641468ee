// SPDX-License-Identifier: Apache-2.0
// How a quantised tensor is scaled, proven sound: which of the field's forms it has, and where the scale of an element
// stands. Filled by the validator, read by operators' checks.
#pragma once

#include "ops/common/spec.h"

namespace spark {

struct QuantView {
    const spark_quant_form* form;                   // nullptr: the numbers are what the dtype says
    spark_devptr scale, zero_point, global_scale;   // 0 = there is none, or the address is not told
    uint32_t scale_dtype, zero_dtype, layout;       // spark_dtype, spark_dtype, spark_scale_layout
    uint32_t tile_rows, tile_columns;               // TILED_128X4: the dimensions that its rows and columns run along
    int64_t block[SPARK_MAX_NDIM];                  // elements of each dimension that share a scale
    int64_t blocks[SPARK_MAX_NDIM];                 // how many blocks there are along it
    int64_t stride[SPARK_MAX_NDIM];                 // in scales, from block to block; packed ones filled in
    int64_t global_stride;                          // from one index of dimension 0 to the next; 0 = one for all
    uint64_t scale_bytes, zero_bytes, global_bytes; // that are read, from the address on
};

// Checks `t.quant` against the field's forms. Needs dtype and shape of `t` to be sound. Of a tensor without one only
// out.form is set, to nullptr: this runs for each tensor of each launch.
spark_status validate_quant(const OpSpec& spec, uint32_t field, const spark_tensor& t, bool at_launch, QuantView& out,
                            Report& report);

// The first dimension, in order of stride, that does not step over all that the smaller ones reach (elements from
// the start, in `reach`); ndim if no two elements can coincide.
uint32_t overlapping_dim(const int64_t* shape, const int64_t* stride, uint32_t ndim, int64_t& reach);

} // namespace spark

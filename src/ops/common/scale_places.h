// SPDX-License-Identifier: Apache-2.0
// Scales of blocks as kernels are told of them, and what kernels ask of a quantised matrix beyond its form.
#pragma once

#include "ops/common/validate.h"

namespace spark {

// The scale of block b of row (r1, 128 t + 32 q + i) stands this far from the first one, in scales:
// r1 * outer + t * tile + q * quarter + i * row + b / 4 * four + b % 4 * step.
struct ScalePlaces {
    spark_devptr data;
    int64_t outer, tile, quarter, row, four, step;
};

// outer, inner, step: from a matrix to the next, from a row to the next (where 128 or 32 rows share a scale, from these
// to the next as many), from a block to the next. Of scales in tiles the last two are known, and not looked at.
// Strides that no row needs may wrap around.
ScalePlaces scale_places(const QuantView& quant, int64_t outer, int64_t inner, int64_t step);

// In tiles, a matrix's rows stay what they are, whatever their strides: the tiles run along the last two dimensions.
spark_status check_tiles(const ValidatedArgs& bound, uint32_t field, Report& report);

// One global_scale for all.
spark_status check_global(const ValidatedArgs& bound, uint32_t field, Report& report);

// Codes of half a byte: rows begin with a whole one.
spark_status check_codes(const ValidatedArgs& bound, uint32_t field, Report& report);

} // namespace spark

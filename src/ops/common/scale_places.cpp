// SPDX-License-Identifier: Apache-2.0
// Scales of blocks: where they stand.
#include "ops/common/scale_places.h"

#include <numeric>

#include "core/divide.h"

namespace spark {
namespace {

long long ll(int64_t value) { return static_cast<long long>(value); }

constexpr int64_t TILE_ROWS = 128, TILE_COLUMNS = 4; // of SPARK_SCALE_TILED_128X4

int64_t wrapped(int64_t stride, uint64_t times) { return static_cast<int64_t>(static_cast<uint64_t>(stride) * times); }

} // namespace

ScalePlaces scale_places(const QuantView& quant, int64_t outer, int64_t inner, int64_t step) {
    if (quant.form->num_blocks == 2) {
        const uint32_t rows = quant.form->block[0]; // 128, or 32
        return {quant.scale,      outer, wrapped(inner, TILE_ROWS / rows), rows == TILE_ROWS ? 0 : inner, 0,
                wrapped(step, 4), step};
    }
    if (quant.layout != SPARK_SCALE_TILED_128X4) {
        return {quant.scale, outer, wrapped(inner, 128), wrapped(inner, 32), inner, wrapped(step, 4), step};
    }
    const int64_t tile = TILE_ROWS * TILE_COLUMNS, tiles = ceil_div(quant.blocks[quant.tile_columns], TILE_COLUMNS);
    return {quant.scale, outer, tile * tiles, TILE_COLUMNS, 4 * TILE_COLUMNS, tile, 1};
}

spark_status check_tiles(const ValidatedArgs& bound, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    const QuantView& quant = v.quant;
    if (quant.layout != SPARK_SCALE_TILED_128X4) return SPARK_OK;
    if (quant.tile_rows + 2 == v.ndim && quant.tile_columns + 1 == v.ndim) return SPARK_OK;
    return report.fail_field(
        SPARK_ERR_UNSUPPORTED_LAYOUT, field, "%s.quant.tile is {%u, %u}; the last two dimensions wanted, {%u, %u}",
        bound.spec->fields[field].name, quant.tile_rows, quant.tile_columns, v.ndim - 2, v.ndim - 1);
}

spark_status check_codes(const ValidatedArgs& bound, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    const uint32_t together = 8 / std::gcd(8u, v.elem_bits); // codes that are whole bytes
    for (uint32_t d = 0; d + 1 < v.ndim; ++d) {
        if (v.stride[d] % together == 0 || v.shape[d] < 2) continue;
        return report.fail_field(
            SPARK_ERR_UNSUPPORTED_LAYOUT, field, "%s.stride[%u] is %lld; %s wanted, so that rows begin on whole bytes",
            bound.spec->fields[field].name, d, ll(v.stride[d]), together == 2 ? "an even one" : "a multiple of 4");
    }
    return SPARK_OK;
}

spark_status check_global(const ValidatedArgs& bound, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    if (v.quant.global_stride == 0 || v.shape[0] < 2) return SPARK_OK;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "%s.quant.global_stride is %lld; 0 wanted: one global_scale for all",
                             bound.spec->fields[field].name, ll(v.quant.global_stride));
}

} // namespace spark

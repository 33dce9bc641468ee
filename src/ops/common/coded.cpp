// SPDX-License-Identifier: Apache-2.0
// Rows and their scales, folded together.
#include "ops/common/coded.h"

#include "core/dtype.h"

namespace spark {
namespace {

constexpr int64_t TILE_ROWS = 128, TILE_COLUMNS = 4; // of SPARK_SCALE_TILED_128X4

// Scales in tiles, or of several rows each: a matrix's rows stay what they are.
bool keeps_matrices(const QuantView& quant) {
    return quant.layout == SPARK_SCALE_TILED_128X4 || quant.form->num_blocks == 2;
}

spark_status fail_fold(const ValidatedArgs& bound, uint32_t x, uint32_t field, bool scales, bool matrix,
                       Report& report) {
    const bool first = field == x && !scales;
    return report.fail_field(SPARK_ERR_UNSUPPORTED_LAYOUT, field,
                             "the leading dimensions of %s%s do not fold to %s%s%s; strides of a packed tensor, or of "
                             "one slice of it, wanted",
                             bound.spec->fields[field].name, scales ? ".quant.scale" : "",
                             matrix ? "one before those of blocks" : "two row dimensions",
                             first ? "" : " together with those of ", first ? "" : bound.spec->fields[x].name);
}

} // namespace

View scale_rows(const View& v) {
    View scales = v;
    scales.data = v.quant.scale;
    for (uint32_t d = 0; d < v.ndim; ++d) scales.stride[d] = v.quant.blocks[d] > 1 ? v.quant.stride[d] : 0;
    return scales;
}

spark_status check_form(const ValidatedArgs& bound, uint32_t like, uint32_t field, Report& report) {
    const View& v = bound.view[field];
    if (v.dtype == bound.view[like].dtype || v.quant.form != nullptr) return SPARK_OK;
    const char* name = bound.spec->fields[field].name;
    return report.fail_field(SPARK_ERR_INVALID_VALUE, field,
                             "%s.quant.scheme is 0; that of a form that spark_op_form lists wanted, since %s.dtype is "
                             "%s",
                             name, name, dtype_info(v.dtype).name);
}

spark_status fold_coded(const ValidatedArgs& bound, std::span<const uint32_t> fields, uint32_t quantised, Coded& p,
                        std::span<RowTensor> tensors, Report& report) {
    if (spark_status s = check_tiles(bound, quantised, report)) return s;
    if (spark_status s = check_codes(bound, quantised, report)) return s;
    if (spark_status s = check_global(bound, quantised, report)) return s;
    const QuantView& quant = bound.view[quantised].quant;
    const View scales = scale_rows(bound.view[quantised]);
    const View* views[MAX_ROW_TENSORS];
    const uint32_t count = static_cast<uint32_t>(fields.size());
    for (uint32_t i = 0; i < count; ++i) views[i] = &bound.view[fields[i]];
    views[count] = &scales;
    const std::span<const View* const> all{views, count + 1};
    const bool matrix = keeps_matrices(quant);
    const uint32_t last = scales.ndim - 2, leading = matrix ? last : last + 1, most = matrix ? 1 : 2;
    const uint32_t bad = first_unfoldable(all, leading, most);
    if (bad <= count) {
        return fail_fold(bound, fields[0], bad < count ? fields[bad] : quantised, bad == count, matrix, report);
    }
    const Rows rows = fold_rows(all, leading);
    const uint32_t outer = matrix ? 0 : 1;
    p.rows1 = rows.dims > outer ? rows.size[0] : 1;
    p.rows0 = matrix ? scales.shape[last] : rows.dims > 0 ? rows.size[rows.dims - 1] : 1;
    RowTensor of_scales{};
    for (uint32_t i = 0; i <= count; ++i) {
        (i < count ? tensors[i] : of_scales) = {views[i]->data, rows.dims > outer ? rows.stride[i][0] : 0,
                                                matrix          ? views[i]->stride[last]
                                                : rows.dims > 0 ? rows.stride[i][rows.dims - 1]
                                                                : 0};
    }
    const bool tiled = quant.layout == SPARK_SCALE_TILED_128X4;
    p.n = scales.last(0);
    const int64_t columns = TILE_COLUMNS * quant.block[scales.ndim - 1];
    p.n_scaled = tiled ? ceil_div(p.n, columns) * columns : p.n;
    p.rows_scaled = tiled ? ceil_div(p.rows0, TILE_ROWS) * TILE_ROWS : p.rows0;
    p.scale = scale_places(quant, of_scales.outer, of_scales.inner, scales.last_stride(0));
    p.code_bits = bound.view[quantised].elem_bits;
    p.codes = bound.view[quantised].dtype;
    return SPARK_OK;
}

CodedKind coded_kind(const QuantView& quant) {
    const uint32_t scheme = quant.form->scheme;
    return {scheme == SPARK_QUANT_PER_TENSOR ? quant.scale : 0, scheme == SPARK_QUANT_BLOCK, is_mx(quant),
            dtype_info(quant.scale_dtype).bits / 8};
}

float largest_code(uint32_t codes) {
    return code_info(codes).largest * (codes == SPARK_DTYPE_E2M1 ? code_info(SPARK_DTYPE_E4M3).largest : 1);
}

} // namespace spark

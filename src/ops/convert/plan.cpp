// SPDX-License-Identifier: Apache-2.0
// Cast and a kernel -> Plan; and the operator's entry in the list.
#include <algorithm>

#include "core/divide.h"
#include "ops/common/row_load.h"
#include "ops/convert/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

consteval Tile tile_of(const Kernel&) { return {}; }

// Units of `per` neighbours of the innermost dimension.
kernels::cast_params params_of(const Cast& p, int64_t per) {
    return {
        .x = p.x,
        .y = p.y,
        .units = p.count / per,
        .size0 = p.size[0] / per,
        .size1 = p.size[1],
        .size2 = p.size[2],
        .size3 = p.size[3],
        .size4 = p.size[4],
        .x0 = p.x_stride[0] * per,
        .x1 = p.x_stride[1],
        .x2 = p.x_stride[2],
        .x3 = p.x_stride[3],
        .x4 = p.x_stride[4],
        .x5 = p.x_stride[5],
        .y0 = p.y_stride[0] * per,
        .y1 = p.y_stride[1],
        .y2 = p.y_stride[2],
        .y3 = p.y_stride[3],
        .y4 = p.y_stride[4],
        .y5 = p.y_stride[5],
        .dims = p.dims,
    };
}

// A unit to a thread.
void plan(const CheckedOp& work, const Row&, const kernels::cast_kernel& kernel, Plan& calls) {
    calls.add(kernel, params_of(work.as<Cast>(), kernel.PER));
}

// Tiles of the first two dimensions, where the second is the one whose elements are neighbours in x.
kernels::cast_params tiles_of(Cast p) {
    constexpr uint32_t EDGE = 64;
    const uint32_t near = turned_dimension(p);
    for (int64_t* each : {p.size, p.x_stride, p.y_stride}) std::swap(each[1], each[near]);
    kernels::cast_params params = params_of(p, 1);
    params.units = ceil_shift(p.size[0], EDGE) * ceil_shift(p.size[1], EDGE) * (p.count / (p.size[0] * p.size[1]));
    return params;
}

void plan(const CheckedOp& work, const Row&, const kernels::cast_turned_kernel& kernel, Plan& calls) {
    const kernels::cast_params params = tiles_of(work.as<Cast>());
    calls.add(kernel, params, params.units);
}

// Twice as many blocks as the device holds: what a block counts before its first tile is half of a tile's work.
void plan(const CheckedOp& work, const Row& row, const kernels::cast_turned8_kernel& kernel, Plan& calls) {
    const kernels::cast_params params = tiles_of(work.as<Cast>());
    calls.add(kernel, params, std::min(params.units, 2 * held_blocks(*work.target, row)));
}

PLAN_OF_ROWS
constexpr Draft DRAFTS[] = {
#include "ops/convert/table.inc"
};
constexpr auto TABLE = make_table<DRAFTS, CONVERT_FACT_NAMES>();

} // namespace

void plan_copy(const Cast& p, Plan& calls) {
    const bool eights = of_one_number(p) && p.size[0] % 8 == 0 && p.count <= UINT32_MAX;
    const kernels::cast_kernel& kernel = eights ? kernels::cast_f32_f32__same : kernels::cast_f32_f32__generic;
    calls.add(kernel, params_of(p, kernel.PER));
}

void plan_turned(const Cast& p, int64_t bytes, Plan& calls) {
    constexpr int64_t GROUP = 16; // bytes that a thread of the fastest kernel moves at a time
    const kernels::cast_params params = tiles_of(p);
    if (bytes == sizeof(float)) return calls.add(kernels::cast_f32_f32__turned, params, params.units);
    const int64_t places = static_cast<int64_t>(p.x | p.y) | bytes * (p.x_stride[0] | p.y_stride[1]);
    if (places % GROUP == 0) return calls.add(kernels::cast_bf16_bf16__turned8, params, params.units);
    calls.add(kernels::cast_bf16_bf16__turned, params, params.units);
}

extern const Operator CAST = {SPARK_OP_CAST, TABLE, CONVERT_FACT_NAMES, check_cast, nullptr};

} // namespace spark

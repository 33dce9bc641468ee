// SPDX-License-Identifier: Apache-2.0
// Operands of F32 that tensor cores do not take as they lie: 4-byte elements have no transposing load from shared
// memory, and copies to it ask for rows that begin on 16 bytes. So they are copied into the workspace, along k.
#include <algorithm>

#include "core/divide.h"
#include "ops/gemm/fields.h"
#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {
namespace {

// a or b of a product: rows of k, each copy with pitch elements from one to the next.
struct Operand {
    spark_devptr data;
    int64_t rows, ld, stride, copies, pitch;
    bool along;

    int64_t elements() const { return copies * rows * pitch; }
};
Operand operand_of(const Gemm& p, spark_devptr data, int64_t rows, int64_t ld, int64_t stride, bool along) {
    return {data, rows, ld, stride, stride == 0 ? 1 : p.batch, gemm_pitch(p), along};
}
Operand a_of(const Gemm& p) { return operand_of(p, p.a, p.m, p.lda, p.stride_a, p.a_along); }
Operand b_of(const Gemm& p) { return operand_of(p, p.b, p.n, p.ldb, p.stride_b, p.b_along); }

// Whether its rows begin anywhere, and its copy can be counted.
bool moves(const Operand& x, const View& v, int64_t k) {
    constexpr int64_t CHUNK = 16, CHUNK_FLOATS = 4, MOST = int64_t{1} << 50;
    const bool fits = x.along && x.ld % CHUNK_FLOATS == 0 && v.alignment() >= CHUNK &&
                      (x.copies == 1 || x.stride % CHUNK_FLOATS == 0);
    return !fits && x.copies <= MOST / x.rows / (k + CHUNK);
}

// Rows along k that begin anywhere: what an activation that does nothing makes of them.
void add_shifted(const Operand& x, int64_t k, spark_devptr to, Plan& calls) {
    constexpr int64_t A_UNIT = 4, MOST_BLOCKS = 8192;
    const auto& kernel = kernels::pointwise_f32_act__generic;
    kernels::pointwise_params params{};
    params.x = x.data, params.x_stride0 = x.ld, params.x_stride1 = x.stride;
    params.y = to, params.y_stride0 = x.pitch, params.y_stride1 = x.rows * x.pitch;
    params.n = k, params.rows0 = x.rows, params.rows1 = x.copies, params.across = ceil_div(k, A_UNIT);
    params.across_inverse = UINT64_MAX / static_cast<uint64_t>(params.across);
    params.rows0_inverse = UINT64_MAX / static_cast<uint64_t>(x.rows);
    params.activation = SPARK_ACTIVATION_NONE;
    const int64_t units = params.across * x.rows * x.copies;
    calls.add(kernel, params, std::min(ceil_div(units, int64_t{kernel.block}), MOST_BLOCKS));
}

// Rows across: tiles of 64 x 64 are turned.
void add_turned(const Operand& x, int64_t k, spark_devptr to, Plan& calls) {
    constexpr int64_t EDGE = 64;
    kernels::cast_params params{};
    params.x = x.data, params.y = to, params.dims = 3, params.units = x.copies * x.rows * k;
    params.size0 = k, params.size1 = x.rows, params.size2 = x.copies, params.size3 = params.size4 = 1;
    params.x0 = x.ld, params.x1 = 1, params.x2 = x.stride;
    params.y0 = 1, params.y1 = x.pitch, params.y2 = x.rows * x.pitch;
    if (params.units > UINT32_MAX) return calls.add(kernels::cast_f32_f32__generic, params);
    params.units = ceil_shift(k, EDGE) * ceil_shift(x.rows, EDGE) * x.copies;
    calls.add(kernels::cast_f32_f32__turned, params, params.units);
}

} // namespace

GemmMoved gemm_moved(const ValidatedArgs& bound, const Gemm& p) {
    if ((!p.tf32 && !p.bf16x3) || p.m == 0 || p.n == 0 || p.batch == 0) return {};
    return {moves(a_of(p), bound.view[gemm_field::A], p.k), moves(b_of(p), bound.view[gemm_field::B], p.k)};
}

uint64_t move_operands(Gemm& p, Plan& calls) {
    uint64_t used = 0;
    for (const bool of_b : {false, true}) {
        if (!(of_b ? p.moved.b : p.moved.a)) continue;
        const Operand x = of_b ? b_of(p) : a_of(p);
        const spark_devptr to = calls.workspace != 0 ? calls.workspace + used : 0;
        x.along ? add_shifted(x, p.k, to, calls) : add_turned(x, p.k, to, calls);
        used += static_cast<uint64_t>(ceil_div(x.elements() * int64_t{sizeof(float)}, 256) * 256);
        (of_b ? p.b : p.a) = to, (of_b ? p.ldb : p.lda) = x.pitch, (of_b ? p.b_along : p.a_along) = true;
        (of_b ? p.stride_b : p.stride_a) = x.copies == 1 ? 0 : x.rows * x.pitch;
    }
    p.moved = {};
    return used;
}

int64_t moved_elements(const Gemm& p) {
    return (p.moved.a ? a_of(p).elements() : 0) + (p.moved.b ? b_of(p).elements() : 0);
}

} // namespace spark

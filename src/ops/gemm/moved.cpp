// SPDX-License-Identifier: Apache-2.0
// Operands that tensor cores do not take as they lie, and that are copied into the workspace first, along k. F32:
// 4-byte elements have no transposing load from shared memory, and copies to it ask for rows that begin on 16 bytes.
// Codes of six bits, and of four beside others: a byte each, as codes of E4M3, which has all their numbers.
#include <algorithm>

#include "core/divide.h"
#include "ops/common/across.h"
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
    params.n = k, params.rows0 = x.rows, params.rows1 = x.copies;
    params.activation = SPARK_ACTIVATION_NONE;
    const int64_t across = ceil_div(k, A_UNIT), units = across * x.rows * x.copies;
    const int64_t blocks = std::min(ceil_div(units, int64_t{kernel.block}), MOST_BLOCKS);
    count_across(params, across, blocks * kernel.block);
    calls.add(kernel, params, blocks);
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

bool has_less_than_bytes(uint32_t dtype) {
    return dtype == SPARK_DTYPE_E2M3 || dtype == SPARK_DTYPE_E3M2 || dtype == SPARK_DTYPE_E2M1;
}

// What gemm_widen counts: units of 16 codes.
int64_t units_of(const Operand& x, int64_t k) {
    constexpr int64_t UNIT = 16;
    return x.copies * x.rows * (k / UNIT);
}

// Whether its rows begin where tensor cores, or what widens them, can read them.
bool fits_widened(const Operand& x, uint32_t dtype, int64_t k) {
    constexpr int64_t WORD = 4, CHUNK = 16, MOST_UNITS = int64_t{1} << 31;
    const int64_t all = static_cast<int64_t>(x.data) | x.ld | (x.copies == 1 ? 0 : x.stride);
    if (!has_less_than_bytes(dtype)) return all % CHUNK == 0;
    return all % WORD == 0 && x.rows <= MOST_UNITS / (k / CHUNK) / x.copies;
}

void add_widened(const Operand& x, uint32_t dtype, int64_t k, spark_devptr to, Plan& calls) {
    constexpr int64_t UNIT = 16, MOST_BLOCKS = 1 << 16;
    const auto& kernel = kernels::gemm_widen__x16;
    const auto units = units_of(x, k);
    calls.add(kernel,
              {
                  .x = x.data,
                  .y = to,
                  .x_row = x.ld,
                  .x_batch = x.stride,
                  .y_row = x.pitch,
                  .y_batch = x.rows * x.pitch,
                  .across = static_cast<uint32_t>(k / UNIT),
                  .rows = static_cast<uint32_t>(x.rows),
                  .units = static_cast<uint32_t>(units),
                  .flags = kernels::gemm_widen_flags{.e3m2 = dtype == SPARK_DTYPE_E3M2,
                                                     .sixes = dtype != SPARK_DTYPE_E2M1,
                                                     .halves = dtype == SPARK_DTYPE_E2M1},
              },
              std::min(ceil_div(units, int64_t{kernel.block}), MOST_BLOCKS));
}

} // namespace

GemmMoved gemm_moved(const ValidatedArgs& bound, const Gemm& p) {
    if ((!p.tf32 && !p.bf16x3) || p.m == 0 || p.n == 0 || p.batch == 0) return {};
    return {moves(a_of(p), bound.view[gemm_field::A], p.k), moves(b_of(p), bound.view[gemm_field::B], p.k)};
}

GemmMoved gemm_widened(const Gemm& p) {
    if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0) return {};
    if (!fits_widened(a_of(p), p.dtype, p.k) || !fits_widened(b_of(p), p.b_dtype, p.k)) return {};
    return {has_less_than_bytes(p.dtype), has_less_than_bytes(p.b_dtype)};
}

uint64_t move_operands(Gemm& p, Plan& calls) {
    const bool codes = p.elem_bits != 32;
    const int64_t bytes = codes ? 1 : sizeof(float);
    uint64_t used = 0;
    for (const bool of_b : {false, true}) {
        if (!(of_b ? p.moved.b : p.moved.a)) continue;
        const Operand x = of_b ? b_of(p) : a_of(p);
        const spark_devptr to = calls.workspace != 0 ? calls.workspace + used : 0;
        if (codes) add_widened(x, of_b ? p.b_dtype : p.dtype, p.k, to, calls);
        else x.along ? add_shifted(x, p.k, to, calls) : add_turned(x, p.k, to, calls);
        used += static_cast<uint64_t>(ceil_div(x.elements() * bytes, 256) * 256);
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

// SPDX-License-Identifier: Apache-2.0
// The parameters that kernels of gemm share, of a checked product.
#include "ops/gemm/params.h"

namespace spark {
namespace {

// What the kernels call the format of c and d: I32 has the size of F32.
uint32_t dtype_code(uint32_t dtype) { return dtype == SPARK_DTYPE_BF16 ? 1 : dtype == SPARK_DTYPE_F16 ? 2 : 0; }

} // namespace

kernels::gemm_flags flags_of(const Gemm& p) {
    const bool d_i32 = p.d_dtype == SPARK_DTYPE_I32;
    return {.d_dtype = dtype_code(p.d_dtype),
            .bias_f32 = p.bias_dtype == SPARK_DTYPE_F32,
            .d_i32 = d_i32,
            .activation = p.activation,
            .from_i32 = p.integers && !d_i32,
            .a_e5m2 = p.a_e5m2,
            .b_e5m2 = p.b_e5m2,
            .b_i8 = p.b_i8,
            .i4 = p.b_i4,
            .scale_f32 = p.b_groups.dtype == SPARK_DTYPE_F32,
            .scale_f16 = p.b_groups.dtype == SPARK_DTYPE_F16,
            .interleaved = p.gate.interleaved,
            .up_first = p.gate.up_first,
            .gpt_oss = p.gate.gpt_oss,
            .bias_bf16 = p.bias_dtype == SPARK_DTYPE_BF16,
            .d_fp8 = p.codes.direct,
            .d_e5m2 = p.codes.e5m2,
            .a_across = !p.a_along,
            .b_across = !p.b_along,
            .tf32 = p.tf32,
            .bf16x3 = p.bf16x3};
}

void put_kept(const GemmKept& kept, kernels::gemm_params& params) {
    params.b_zero = kept.data, params.b_scale_four = kept.row, params.b_scale_tile = kept.batch;
}

void put_blocks(const Gemm& p, kernels::gemm_params& params) {
    params.b_scale = p.b_blocks.data;
    params.b_scale_batch = p.b_blocks.outer;
    params.b_scale_tile = p.b_blocks.tile;
    params.b_scale_quarter = p.b_blocks.quarter;
    params.b_scale_step = p.b_blocks.row;
    params.b_scale_four = p.b_blocks.four;
    params.b_scale_group = p.b_blocks.step;
    params.b_whole = p.b_scales.data;
}

kernels::gemm_params params_of(const Gemm& p, uint32_t group) {
    kernels::gemm_params params{};
    put_product(p, params);
    params.flags = flags_of(p);
    params.group = group;
    params.b_scale_group = p.b_groups.step;
    params.b_zero = p.b_groups.zeros;
    params.b_group_shift = p.b_groups.shift;
    params.limit = p.gate.limit;
    return params;
}

} // namespace spark

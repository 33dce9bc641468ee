// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels from a checked product, for plan.cpp.
#pragma once

#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {

kernels::gemm_flags flags_of(const Gemm& p);
kernels::gemm_params params_of(const Gemm& p, uint32_t group);

// What every kernel of products is told: the tensors with their strides, their scales, the sizes and factors.
template <class Params> void put_product(const Gemm& p, Params& params) {
    params.a = p.a, params.lda = p.lda, params.a_batch = p.stride_a;
    params.b = p.b, params.ldb = p.ldb, params.b_batch = p.stride_b;
    params.c = p.c, params.ldc = p.ldc, params.c_batch = p.stride_c;
    params.d = p.d, params.ldd = p.ldd, params.d_batch = p.stride_d;
    params.bias = p.bias;
    params.m = p.m, params.n = p.n, params.k = p.k, params.batch = p.batch;
    params.alpha = p.alpha, params.beta = p.beta;
    params.a_scale = p.a_scales.data, params.a_scale_step = p.a_scales.step, params.a_scale_batch = p.a_scales.batch;
    params.b_scale = p.b_scales.data, params.b_scale_step = p.b_scales.step, params.b_scale_batch = p.b_scales.batch;
    params.cap = p.cap, params.d_scale = p.codes.scale;
}

// Of b with two of each four numbers.
void put_kept(const GemmKept& kept, kernels::gemm_params& params);
// Of weights whose scales stand in blocks: places in bytes, and the scale of all.
void put_blocks(const Gemm& p, kernels::gemm_params& params);

} // namespace spark

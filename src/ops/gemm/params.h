// SPDX-License-Identifier: Apache-2.0
// Parameters of kernels from a checked product, for plan.cpp.
#pragma once

#include "ops/gemm/problem.h"
#include "spark_kernels.h"

namespace spark {

kernels::gemm_flags flags_of(const Gemm& p);
kernels::gemm_params params_of(const Gemm& p, uint32_t group);

// Of b with two of each four numbers.
void put_kept(const GemmKept& kept, kernels::gemm_params& params);
// Of weights whose scales stand in blocks: places in bytes, and the scale of all.
void put_blocks(const Gemm& p, kernels::gemm_params& params);

} // namespace spark

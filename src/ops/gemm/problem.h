// SPDX-License-Identifier: Apache-2.0
// The checked matrix product, and the facts that kernels' limits and table rows may name.
#pragma once

#include "ops/operator.h"

namespace spark {

// Of an operand that is made of codes: where its scales are, F32. No address: the codes are numbers by themselves.
struct GemmScales {
    spark_devptr data;
    int64_t step, batch; // scales from one row's to the next, from one batch's to the next; 0 = the same for all
};

// Strides are in elements. lda and ldb are the strides of the dimension that is not contiguous.
struct Gemm {
    spark_devptr a, b, c, d, bias; // 0 = absent
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldc, ldd;
    int64_t stride_a, stride_b, stride_c, stride_d; // from one batch to the next; 0 = the same for all
    float alpha, beta;
    uint32_t activation;
    uint32_t d_dtype; // spark_dtype of c and d
    bool bias_f32;
    bool a_along, b_along; // k is contiguous
    uint32_t elem;         // bytes of an element of a and b
    GemmScales a_scales, b_scales;
    bool batch_invariant;
};

enum GemmFact : uint32_t {
    GEMM_M,
    GEMM_N,
    GEMM_K,
    GEMM_BATCH,
    GEMM_LDA,
    GEMM_LDB,
    GEMM_LDC,
    GEMM_LDD,
    GEMM_A_ALIGN,
    GEMM_B_ALIGN,
    GEMM_C_ALIGN,
    GEMM_D_ALIGN,
    GEMM_FACTS
};
// NAME_align: the largest power of two, at most 256, that divides the address and the batch stride in bytes; 256 where
// the tensor is absent.
constexpr const char* GEMM_FACT_NAMES[] = {"m",   "n",   "k",       "batch",   "lda",     "ldb",
                                           "ldc", "ldd", "a_align", "b_align", "c_align", "d_align"};
static_assert(std::size(GEMM_FACT_NAMES) == GEMM_FACTS);

// How a row's kernel cuts the product.
struct GemmCut {
    int64_t tiles; // of d
    int64_t part;  // elements of k that a block adds; all of them where there is one part
    int64_t parts; // of k
};
GemmCut cut_gemm(const CheckedOp& work, const Row& row);
// Rows of tiles walked together, so that they share columns of b in L2.
uint32_t gemm_group(const CheckedOp& work, const Row& row);
void load_gemm(const CheckedOp& work, const Row& row, Load& load);

spark_status check_gemm(const ValidatedArgs& bound, CheckedOp& work, Report& report);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// The checked matrix product.
#pragma once

#include "ops/gemm/fields.h"
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
    uint32_t d_dtype; // spark_dtype of c and d; I32: of the sums themselves
    bool bias_f32;
    bool a_along, b_along; // k is contiguous
    uint32_t elem;         // bytes of an element of a and b
    bool integers;         // a, b and the sums are integers
    bool a_e5m2, b_e5m2;
    GemmScales a_scales, b_scales;
    bool batch_invariant;
};

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

} // namespace spark

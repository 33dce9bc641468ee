// SPDX-License-Identifier: Apache-2.0
// The checked matrix product.
#pragma once

#include "ops/common/scale_places.h"
#include "ops/gemm/fields.h"
#include "ops/operator.h"

namespace spark {

// Of an operand that is made of codes: where its scales are, F32. No address: the codes are numbers by themselves.
struct GemmScales {
    spark_devptr data;
    int64_t step, batch; // scales from one row's to the next, from one batch's to the next; 0 = the same for all
};

// Of a b that is made of records: how a number of its elements of a row become bytes.
struct GemmRecords {
    int64_t elements, bytes; // of one
};

// Strides are in elements, of records, and of a and b with scales of blocks, in bytes. lda and ldb are the strides of
// the dimension that is not contiguous.
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
    uint32_t elem_bits;    // of a and b
    bool integers;         // a, b and the sums are integers
    bool a_e5m2, b_e5m2;
    GemmScales a_scales, b_scales;
    ScalePlaces a_blocks, b_blocks; // scales of blocks, in bytes; no address: there are none
    GemmRecords b_records;          // bytes 0: b is no records
    uint32_t dtype;                 // spark_dtype of a, and of b where that is numbers
    bool batch_invariant;
};

// weights.cpp: what kind of records a tensor is made of, nullptr if none; whether such a b goes with a, and lies as
// kernels take it; the contract for it, dtype: of a.
const spark_quant_form* records_of(const View& v);
spark_status check_gemm_weights(const ValidatedArgs& bound, Report& report);
spark_status check_gemm_records(const ValidatedArgs& bound, bool a_along, bool b_along, Report& report);
Contract contract_of_records(const spark_quant_form& form, uint32_t dtype);

// How a row's kernel cuts the product.
struct GemmCut {
    int64_t tiles; // of d
    int64_t part;  // elements of k that a block adds; all of them where there is one part
    int64_t parts; // of k
};
GemmCut cut_gemm(const CheckedOp& work, const Row& row);
// Rows of tiles walked together, so that they share columns of b in L2.
uint32_t gemm_group(const CheckedOp& work, const Row& row);
// Whether a or b is made of codes that have no meaning without scales of their blocks, and what follows from these: K,
// strides, places of the scales, the contract.
bool is_block_scaled(const ValidatedArgs& bound);
spark_status check_block_scaled(const ValidatedArgs& bound, Gemm& p, Contract& contract, Report& report);
int64_t scales_alignment(const Gemm& p);
void load_gemm(const CheckedOp& work, const Row& row, Load& load);

} // namespace spark

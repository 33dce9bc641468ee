// SPDX-License-Identifier: Apache-2.0
// One function per kind of row: it makes arguments of an operator on random operands and adds the row that runs them.
// Used by the fixed rows (items.cpp) and by the drawn ones (choices.cpp).
#pragma once

#include "items.h"

namespace bench {

// The rows so far, and what the name or shape of a row must contain: no other row is made, so that a run of a few needs
// neither the memory of all of them nor a kernel for each.
struct Rows {
    Buffers& buffers;
    std::string only;
    bool rivals = false; // every legal kernel is a way
    bool cold = false;   // every row takes turns with copies that no cache holds, also where that is no streaming row
    std::vector<Item> items;
};

void gemm(Rows& rows, int64_t m, int64_t n, int64_t k, spark_dtype dtype, const std::string& layout);
void attention(Rows& rows, int64_t batch, int64_t queries, int64_t keys, int64_t heads, int64_t kv_heads, int64_t d,
               bool causal, bool invariant = false, spark_dtype dtype = SPARK_DTYPE_BF16);
void rmsnorm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, bool residual);
void l2norm(Rows& rows, int64_t count, int64_t n, spark_dtype dtype);
void layernorm(Rows& rows, int64_t count, int64_t n, bool residual, spark_dtype dtype = SPARK_DTYPE_BF16);
void softmax(Rows& rows, int64_t count, int64_t n, spark_dtype dtype);
void rope(Rows& rows, int64_t tokens, int64_t heads, int64_t d, spark_dtype dtype);
// BF16. inputs 1: activation; 2: glu of two tensors or, packed, of two halves; add where kind is NONE.
void pointwise(Rows& rows, int64_t count, int64_t n, spark_activation_kind kind, int inputs, bool packed = false);
void embedding(Rows& rows, int64_t tokens, int64_t vocabulary, int64_t width);
void cast(Rows& rows, int64_t count, int64_t n, spark_dtype from, spark_dtype to, bool transpose);
void quantize(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, const std::string& form, bool own_amax = false);
void dequantize_scaled(Rows& rows, int64_t count, int64_t n, spark_dtype dtype, const std::string& form);
void amax(Rows& rows, int64_t count, int64_t n, spark_dtype dtype);
void dequantize(Rows& rows, int64_t count, int64_t n, spark_record format, spark_dtype dtype);
// Greedy where k and p are 0.
void sample(Rows& rows, int64_t count, int64_t vocabulary, spark_dtype dtype, int32_t k, float p);

} // namespace bench

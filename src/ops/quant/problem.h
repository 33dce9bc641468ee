// SPDX-License-Identifier: Apache-2.0
// Checked problems of the family quant.
#pragma once

#include "ops/common/coded.h"
#include "ops/operator.h"
#include "ops/quant/fields.h"

namespace spark {

// rows1 x rows0 rows of n elements. Row (i, j) begins i * outer + j * inner from data: bytes of records, or elements.
struct Records {
    RowTensor records, numbers;
    int64_t n, rows1, rows0;
    uint32_t dtype; // of numbers
};

// Rows of codes, and where their scales stand.
// whole: the scale of all, or 0: TENSOR's only one, NVFP4's second. amax: that it is made of, or 0.
struct Scaled : Coded {
    RowTensor x, y;
    spark_devptr whole, amax;
    spark_devptr zeros;          // in the places of the scales, or 0
    uint32_t scales;             // their dtype
    uint32_t block_shift;        // of INT4: log2 of the elements that share one
    spark_devptr seeds, offsets; // of random numbers: addresses of seed and offset, or 0
    uint64_t seed, offset;
    bool whole_rows; // a scale belongs to a row
    bool own_amax;   // amax is still to be found, in x
};

// rows x words words of x, whose codes are neighbours in y, or with `across` those of neighbouring rows; strides in
// words, of y in bytes.
struct Repack {
    spark_devptr x, y;
    int64_t x_row, x_word, y_row, y_word, y_column;
    int64_t rows, words;
    uint32_t plus;
    bool interleaved, across;
};

// y[r1, r0] = amax of row (r1, r0) of x, of n elements; y is packed. all: of all of them, or 0.
struct Amax {
    RowTensor x;
    spark_devptr y, all;
    int64_t n, rows1, rows0;
    uint32_t dtype;
};

} // namespace spark

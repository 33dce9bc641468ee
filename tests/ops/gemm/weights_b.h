// SPDX-License-Identifier: Apache-2.0
// A case of gemm with weights: how b is quantised, and b itself, with its scales, for every such way.
#pragma once

#include "ops/gemm/weights.h"
#include "ref/dequantize.h"

namespace check {

// How b is quantised: in records, in codes with a scale for each row or for all, in INT4: I4 or U4 with scales in
// `type` for so many of k each, and zeros, or in a form with scales of blocks in bytes.
struct WeightFormat {
    std::string name;
    const ref::RecordFormat* record = nullptr;
    ref::Type type = ref::Type::u8;
    bool one_scale = false;
    int64_t group = 0;
    bool is_signed = false, zeros = false;
    unsigned form = 0; // a bit of Forms (ops/quant/scaled.h), with `type` as there
    bool nf4 = false;  // with `type` and `group` as INT4
};
const std::vector<WeightFormat>& weight_formats();
// Bits of weight_formats().
enum WeightFormats : unsigned {
    ROWS = 3,
    TENSORS = 12,
    Q8_0 = 16,
    Q4_1 = 32,
    RECORDS = 48,
    Q4_0 = 64,
    Q5_0 = 128,
    Q5_1 = 256,
    Q2_K = 1 << 9,
    Q3_K = 1 << 10,
    WIDE = 3 << 11, // Q4_K and Q5_K
    Q6_K = 1 << 13,
    IQ4_NL = 1 << 14,
    IQ4_XS = 1 << 15,
    NV4_RECORDS = 1 << 17,
    SMALL = Q4_0 | Q5_0 | Q5_1 | IQ4_NL,
    ALL_RECORDS = (1 << 18) - 16,
    U4_32 = 1 << 18,
    U4_128 = 1 << 20,
    NIBBLES = 31 << 18,
    NORMAL = 1 << 23, // NF4
    MX8 = 1 << 24,
    MX4 = 1 << 27,
    NV4 = 1 << 28,
    FP4 = MX4 | NV4,
    STORED = FP4 | MX8,
    BLOCKS = ~0u << 24 // all with scales of blocks in bytes
};

struct WeightsShape {
    const char* name = "";
    int64_t batch = 1, m = 1, n = 1, k = 32;
    int64_t a_pad = 0, d_pad = 0;           // elements after each row
    int64_t b_pad = 0;                      // bytes after each row, an even number, of I8 and E4M3 a multiple of 4
    int64_t a_misalign = 0, b_misalign = 0; // elements, and bytes, likewise, off the 16-byte boundary
    unsigned formats = RECORDS, types = BF16, outs = BF16;
    float alpha = 1, beta = 0;
    bool bias = false, b_same = false; // one b for all of the batch
    spark_activation_kind activation = SPARK_ACTIVATION_NONE;
    Special special = Special::none;                       // a row of a
    bool nans = false;                                     // some scales, and some codes of E4M3
    int64_t scale_step = 1;                                // from a row's to the next; of blocks: scales after each row
    bool tiled = false, columns = false, no_whole = false; // of blocks (ops/gemm/scaled_codes.h)
    unsigned flags = 0;
    ref::Gate gate = {}; // then n is even
    bool twins = false;  // of a batch-invariant call of one product
    Tier tier = Tier::quick;
};

// b is [B, N, K]: its numbers, and for each how large the terms are that it is the sum of.
struct WeightsProblem {
    ref::Gemm op;
    ref::Gate gate;
    ref::Activation activation; // which op has where there is no gate
    ref::Type type, out;
    size_t batch, m, n, k;
    std::vector<double> a, b, terms, c, bias;
    bool b_same, of_blocks;

    size_t columns() const { return gate.on ? n / 2 : n; } // of d
};

// Rows of so many columns, `pad` elements after each.
View weights_matrix(ref::Type type, int64_t batch, int64_t rows, int64_t columns, int64_t pad);

// What follows the product of a case: bias in F32, addend and d, of a Shape's settings into a Problem.
template <class Shape, class Problem> void add_others(Case& c, const Shape& s, Random& random, Problem& p) {
    using Args = spark_gemm_args;
    if (s.bias) {
        const Operand bias = c.add("bias", offsetof(Args, bias), packed(ref::Type::f32, {s.n}), 16, false);
        fill(c, bias, random);
        p.bias = c.values(bias);
    }
    const View d = weights_matrix(p.out, s.batch, s.m, static_cast<int64_t>(p.columns()), s.d_pad);
    if (s.beta != 0) {
        const Operand addend = c.add("c", offsetof(Args, c), d, 16, false);
        fill(c, addend, random, 2);
        p.c = c.values(addend);
    }
    c.add("d", offsetof(Args, d), d, 16, true);
}
// Adds b in that format, and writes down its numbers.
void add_weights(Case& c, const WeightsShape& s, const WeightFormat& format, Random& random, WeightsProblem& p);

} // namespace check

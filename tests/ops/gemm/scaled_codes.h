// SPDX-License-Identifier: Apache-2.0
// A matrix of codes with scales of their blocks, as an operand of gemm: drawn, and the numbers that it stands for.
#pragma once

#include "ops/quant/scaled.h"

namespace check {

struct ScaledValues {
    bool no_whole = false; // NVFP4 without a scale of all
    bool nan_scales = false, zero_scales = false;
    bool exact = false; // scales are powers of two, so few and near that FP32 sums exactly
};

// Where it lies: the descriptor's offset; bytes after each row, and off the 16-byte boundary; same: the codes are those
// of the first matrix, whose scales differ.
struct ScaledPlace {
    const char* name;
    size_t offset;
    Form form;
    Scales scales;
    int64_t pad = 0, misalign = 0;
    bool same = false;
};

// Decoded: rows of k numbers, each times the scale of its block; and the scale of all.
struct ScaledMatrix {
    std::vector<double> values;
    double whole = 1;
};

ScaledMatrix add_scaled_codes(Case& c, const ScaledPlace& place, const ScaledValues& values, Random& random);

} // namespace check

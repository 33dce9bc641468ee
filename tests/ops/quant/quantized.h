// SPDX-License-Identifier: Apache-2.0
// What quantize makes of numbers that are known exactly: one right result, by tests/ref. For its own cases and for
// those of operators whose results become codes.
#pragma once

#include "ops/quant/scaled.h"
#include "ref/quantize.h"

namespace check {

// The form, where scales stand, and how they are made. given: scale is that of all.
struct Quantising {
    Form form = {TENSOR, ref::Type::e4m3};
    Scales place;
    bool given = false, no_whole = false; // NVFP4 without a scale of all
    float scale = 1, amax_floor = 0;
    ref::Rule rule = ref::Rule::floor;
};

// Bytes of codes and scales, row-major, and the scale of all.
struct QuantizedNumbers {
    std::vector<uint8_t> y;
    std::vector<double> scales;
    double whole;
};
QuantizedNumbers quantized(const Quantising& how, std::span<const double> x, ref::Words words = {});

std::vector<Allowed> allowed_bytes(std::span<const uint8_t> bytes);
// empty: nothing is written.
std::vector<Allowed> allowed_scales(std::span<const double> scales, ref::Type type, bool empty);

} // namespace check

// SPDX-License-Identifier: Apache-2.0
// d as codes in cases of gemm: how arguments say it, and what is right.
#pragma once

#include "ops/quant/coded.h"
#include "ops/quant/quantized.h"

namespace check {

// forms: where the results are known to an interval, those of CODED. exactly: any form of quantize, and a scale of all
// that is made; then the results must be known exactly.
struct Codes {
    Quantised quant = {};
    bool exactly = false, own_amax = false, no_whole = false;
    bool amax = false; // is wanted
};

// d of such a case, once it is added: its outputs by number.
struct AddedCodes {
    Quantising how;
    bool exactly;
    CodedAt at;
    size_t whole, amax; // 0: there is none

    // Of output `index`, from the results as F32 would be allowed to be, or from the results themselves.
    std::vector<Allowed> allowed(size_t index, const std::vector<Allowed>& results) const;
    std::vector<Allowed> allowed(size_t index, const std::vector<double>& results) const;
};
AddedCodes add_codes(Case& c, const Codes& codes, const Scales& place, int64_t pad, int64_t pad1, size_t misalign);

// Of the amax of such results, or of the F32 that they would be.
std::vector<Allowed> allowed_amax(const std::vector<Allowed>& results);

Codes random_codes(Random& r);

} // namespace check

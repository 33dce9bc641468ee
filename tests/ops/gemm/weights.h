// SPDX-License-Identifier: Apache-2.0
// Cases of gemm whose b is quantised and whose a is not, and what they share with the others.
#pragma once

#include "check/random.h"
#include "ops/families.h"
#include "ref/gemm.h"

namespace check {

// What FP32 arithmetic may add to the error `sum` of a product's sum until d is rounded, both as they are after alpha:
//   alpha, beta and bias are three operations, each 2^-24 relative to the sum of the absolute terms; `scales` more;
//   activation: slope at most 1.13 (GELU; SiLU 1.10; ReLU 1), and 2^-20 |x| for exponentials and divisions that are
//   approximate; the square of ReLU: (x + e)^2 - x^2, and its rounding.
double gemm_error(const ref::Gemm& op, const ref::GemmElement& e, double sum, double c, double bias, int scales);

} // namespace check

namespace check::weights {

void named(std::vector<Entry>& out);
Entry random(Random& r, const std::string& name);
// Of the words "m=1 n=64 k=64 BF16 Q8_0": the format, "" if none is there; and the entry, when the others are taken.
std::string taken(Words& words);
Entry worded(Words& words, const std::string& format, int64_t m, int64_t n, int64_t k, ref::Type type);

} // namespace check::weights

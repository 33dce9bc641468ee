// SPDX-License-Identifier: Apache-2.0
// Cases of gemm whose b has two of each four numbers along K.
#pragma once

#include "check/random.h"
#include "ops/families.h"

namespace check::sparse {

void named(std::vector<Entry>& out);
Entry random(Random& r, const std::string& name);
// Of the words "m=1 n=64 k=64 BF16 2:4", when the others are taken.
Entry worded(Words& words, int64_t m, int64_t n, int64_t k, ref::Type type);

} // namespace check::sparse

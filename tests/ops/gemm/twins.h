// SPDX-License-Identifier: Apache-2.0
// Twins of a batch-invariant product: calls of more rows, of fewer, of several products, in which rows of the case
// stand among others. What d has of them must have the same bits.
#pragma once

#include "check/case.h"
#include "check/random.h"

#include <functional>
#include <string>
#include <vector>

namespace check::gemm {

// The same call, with so many rows and products of other numbers.
using Rebuilt = std::function<Case(int64_t m, int64_t batch, const std::string& name)>;

// c is of one product and of m rows; `several`: rebuilt makes more of them. Kernels that add as the library's choice
// does are held against it too.
void add_twins(Case& c, int64_t m, bool several, const Rebuilt& rebuilt, const Seed& seed);

} // namespace check::gemm

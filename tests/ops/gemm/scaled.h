// SPDX-License-Identifier: Apache-2.0
// Cases of gemm whose a and b are codes with scales of their blocks.
#pragma once

#include "ops/families.h"

#include <optional>

namespace check::block_scaled {

void named(std::vector<Entry>& out);
Entry random(Random& r, const std::string& name);
// What stands behind "m=16 n=32 k=64 tn", if it is one of their forms.
std::optional<Entry> worded(Words& words, int64_t m, int64_t n, int64_t k);

} // namespace check::block_scaled

// SPDX-License-Identifier: Apache-2.0
// The ratio of the rates of neighbouring pairs, as kernels take it. It is all that they need to reduce any
// position's angle exactly. Knows nothing of tensors.
#pragma once

#include <cstdint>

namespace spark {

// theta^(-1/pairs) as a fraction of 2^64, rounded down: the same number on every host. theta > 1, pairs >= 1.
uint64_t rope_ratio(float theta, int64_t pairs);

} // namespace spark

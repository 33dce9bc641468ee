// SPDX-License-Identifier: Apache-2.0
// How ptx/pointwise counts units of rows, one row after the other, without a division.
#pragma once

#include <algorithm>
#include <cstdint>

#include "spark_kernels.h"

namespace spark {

// `across` units of each row, to `threads` threads at a time; rows0 is known.
inline void count_across(kernels::pointwise_params& params, int64_t across, int64_t threads) {
    // A product with it is at most 1 less than the quotient.
    const auto inverse = [](int64_t divisor) { return UINT64_MAX / static_cast<uint64_t>(divisor); };
    const int64_t divisor = std::max<int64_t>(across, 1);
    params.across = across, params.across_inverse = inverse(divisor);
    params.rows0_inverse = inverse(std::max<int64_t>(params.rows0, 1));
    params.step_rows = threads / divisor, params.step_units = threads % divisor;
}

} // namespace spark

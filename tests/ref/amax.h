// SPDX-License-Identifier: Apache-2.0
// Oracle of amax: one row, from the definition.
//   y = max |x[j]|;  NaN if one of them is, 0 of nothing
#pragma once

#include <span>

namespace ref {

double amax(std::span<const double> x);

} // namespace ref

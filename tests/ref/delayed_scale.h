// SPDX-License-Identifier: Apache-2.0
// Oracle of delayed_scale: one tensor, from the definition.
//   last = amax, or history[0] where that is 0;  the largest of it and history[1 ..], NaNs left out, makes the scale
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace ref {

struct DelayedScale {
    std::vector<double> history; // after the call
    // Quotients of F32 numbers, not rounded yet; nothing where scales stay what they were.
    std::optional<double> scale, inverse;
};

DelayedScale delayed_scale(std::span<const double> history, double amax, double largest, bool most_recent);

} // namespace ref

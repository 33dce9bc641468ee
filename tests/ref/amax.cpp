// SPDX-License-Identifier: Apache-2.0
// Oracle of amax; see the header for the definition.
#include "ref/amax.h"

#include <algorithm>
#include <cmath>

namespace ref {

double amax(std::span<const double> x) {
    double most = 0;
    for (double value : x) {
        most = std::isnan(value) || std::isnan(most) ? std::nan("") : std::max(most, std::fabs(value));
    }
    return most;
}

} // namespace ref

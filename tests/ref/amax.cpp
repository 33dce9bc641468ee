// SPDX-License-Identifier: Apache-2.0
// Oracle of amax; see the header for the definition.
#include "ref/amax.h"

#include "ref/call.h"

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

static Results compute_amax(const Call& call) {
    const Tensor& x = call["x"];
    Result y{.rounded = true};
    for (size_t first = 0; first < x.values.size(); first += x.size(1)) {
        y.values.push_back(amax(x.row(first, x.size(1))));
    }
    return {{"y", y}};
}

extern const Oracle AMAX{"amax", compute_amax};

} // namespace ref

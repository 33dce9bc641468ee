// SPDX-License-Identifier: Apache-2.0
// Oracle of delayed_scale; see the header for the definition.
#include "ref/delayed_scale.h"

#include "ref/call.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ref {

DelayedScale delayed_scale(std::span<const double> history, double amax, double largest, bool most_recent) {
    const double last = amax == 0 ? history[0] : amax;
    DelayedScale out;
    out.history.assign(history.begin() + 1, history.end());
    out.history.push_back(last);
    double most = 0;
    for (const double one : out.history) {
        most = one > most ? one : most;
    }
    most = most_recent ? last : most;
    out.history[0] = 0;
    if (most > 0 && std::isfinite(most)) {
        out.scale = most / largest;
        out.inverse = std::min<double>(largest / most, std::numeric_limits<float>::max());
    }
    return out;
}

static Results compute_delayed_scale(const Call& call) {
    const Tensor &history = call["history"], &amax = call["amax"];
    const size_t rows = history.size(0), columns = history.size(1);
    Result after{.values = history.values}, scale{.values = call["scale"].values},
        inverse{.values = call["inverse"].values};
    for (size_t column = 0; column < columns; ++column) {
        std::vector<double> own;
        for (size_t row = 0; row < rows; ++row) {
            own.push_back(history.values[row * columns + column]);
        }
        const DelayedScale one = delayed_scale(own, amax.values.empty() ? 0 : amax.values[column],
                                               call.number("largest"), call.is("most_recent"));
        for (size_t row = 0; row < rows; ++row) {
            after.values[row * columns + column] = one.history[row];
        }
        scale.values[column] = one.scale.value_or(scale.values[column]);
        inverse.values[column] = one.inverse.value_or(inverse.values[column]);
    }
    return {{"history_after", after}, {"scale_after", scale}, {"inverse_after", inverse}};
}

extern const Oracle DELAYED_SCALE{"delayed_scale", compute_delayed_scale};

} // namespace ref

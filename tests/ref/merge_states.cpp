// SPDX-License-Identifier: Apache-2.0
// Oracle of merge_states: of each row, over its states with the logarithms s[i] and the values v[i],
//   y_lse = log(sum_i exp(s[i])),  y = sum_i exp(s[i] - y_lse) v[i]
// A state with s = -infinity counts for nothing; a row of such has y = 0, y_lse = -infinity. An infinite or NaN s: NaN.
#include "ref/call.h"

#include <cmath>
#include <limits>

namespace ref {

static Results compute_merge_states(const Call& call) {
    constexpr double NOTHING = -std::numeric_limits<double>::infinity();
    const Tensor &x = call["x"], &x_lse = call["x_lse"], &more = call["more"], &more_lse = call["more_lse"];
    const size_t d = x.size(4), rows = x.size(1) * x.size(2) * x.size(3);
    Result y, y_lse;
    for (size_t row = 0; row < rows; ++row) {
        std::vector<double> s;
        std::vector<std::span<const double>> v;
        for (size_t part = 0; part < x.size(0); ++part) {
            s.push_back(x_lse.values[part * rows + row]);
            v.push_back(x.row((part * rows + row) * d, d));
        }
        if (!more_lse.values.empty()) {
            s.push_back(more_lse.values[row]);
            v.push_back(more.row(row * d, d));
        }
        double top = NOTHING, total = 0;
        for (double one : s) {
            top = std::isnan(one) || one > top ? one : top;
        }
        std::vector<double> sums(d);
        for (size_t i = 0; i < s.size(); ++i) {
            if (s[i] == NOTHING) {
                continue;
            }
            const double weight = std::isfinite(top) ? std::exp(s[i] - top) : std::nan("");
            total += weight;
            for (size_t j = 0; j < d; ++j) {
                sums[j] += weight * v[i][j];
            }
        }
        for (double sum : sums) {
            y.values.push_back(top == NOTHING ? 0 : sum / total);
        }
        y_lse.values.push_back(top == NOTHING ? NOTHING : top + std::log(total));
    }
    return {{"y", y}, {"y_lse", y_lse}};
}

extern const Oracle MERGE_STATES{"merge_states", compute_merge_states};

} // namespace ref

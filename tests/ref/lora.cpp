// SPDX-License-Identifier: Apache-2.0
// Oracle of lora: of each row m, with the adapter l = index[m],
//   h[r] = sum_k x[m, k] a[l, r, k],  y[m, n] = scale * sum_r h[r] b[l, n, r] + c[m, n]
// A row whose index is no adapter is c[m, n] alone. No c: 0.
#include "ref/call.h"

namespace ref {

static double product(std::span<const double> left, std::span<const double> right) {
    double sum = 0;
    for (size_t i = 0; i < left.size(); ++i) {
        sum += left[i] * right[i];
    }
    return sum;
}

static Results compute_lora(const Call& call) {
    const Tensor &x = call["x"], &a = call["a"], &b = call["b"], &c = call["c"];
    const std::vector<int64_t> index = call["index"].integers();
    const size_t k = x.size(1), rank = a.size(1), n = b.size(1);
    Result y;
    for (size_t m = 0; m < index.size(); ++m) {
        const bool has_adapter = index[m] >= 0 && index[m] < a.shape[0];
        const size_t l = has_adapter ? static_cast<size_t>(index[m]) : 0;
        std::vector<double> h;
        for (size_t r = 0; r < rank && has_adapter; ++r) {
            h.push_back(product(x.row(m * k, k), a.row((l * rank + r) * k, k)));
        }
        for (size_t i = 0; i < n; ++i) {
            const double low_rank = has_adapter ? product(h, b.row((l * n + i) * rank, rank)) : 0;
            y.values.push_back(call.number("scale") * low_rank + (c.values.empty() ? 0 : c.values[m * n + i]));
        }
    }
    return {{"y", y}};
}

extern const Oracle LORA{"lora", compute_lora};

} // namespace ref

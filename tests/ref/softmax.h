// SPDX-License-Identifier: Apache-2.0
// Oracle of softmax: one row, in double precision, from the definition. The caller rounds.
//   s = scale x;  y = exp(s) / sum(exp(s));  log: y = s - ln(sum(exp(s)));  0 times an infinity is that infinity
// The largest s is subtracted first; NaN and infinities do what they do in that formula.
#pragma once

#include <span>

namespace ref {

double scaled(double x, double scale); // s
void softmax_row(std::span<const double> x, double scale, bool log, std::span<double> y);

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Sums of products, quotients and roots of f64 in every rounding, by integers: slow and right.
// Called by the executors of f64 arithmetic and of mma where the host's nearest does not do. NaNs are num::F64's.
#pragma once

#include "format.h"

namespace emu::num {

double fma_f64(double a, double b, double c, Round round); // a + b: b = 1; a * b: c a zero of the product's sign
double divide_f64(double a, double b, Round round);
double root_f64(double a, Round round);

} // namespace emu::num

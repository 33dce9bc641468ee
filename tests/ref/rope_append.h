// SPDX-License-Identifier: Apache-2.0
// Oracle of rope_append: one head on its way to q_out or to a cache, in double precision.
//   n = x / sqrt(mean(x^2) + eps) w', w' = w or 1 + w      where there is a weight
//   pairs of n turned as rope.h says; nothing is rounded on the way
// Where it goes is kv_append's, by slots or, without them, by positions.
#pragma once

#include "ref/rmsnorm.h"
#include "ref/rope.h"

#include <vector>

namespace ref {

std::vector<double> rope_append_head(const Rmsnorm& norm, std::span<const double> x, std::span<const double> weight,
                                     std::span<const Turn> turns, bool interleaved);

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Division that counts what is begun: blocks, tiles, steps.
#pragma once

#include <cstdint>

namespace spark {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

} // namespace spark

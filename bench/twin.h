// SPDX-License-Identifier: Apache-2.0
// What attention of FP8 codes does, in integers (ceilings/attention.twin.ptx): its speed where a card has no products
// of such codes. Called by main.cpp. Knows nothing of the library's operators.
#pragma once

#include "items.h"

namespace bench {

// Loads the twin, holds it against a model on the host, and throws std::runtime_error if it differs; then its rows.
std::vector<Item> twin_items(Ceilings& ceilings, Buffers& buffers, bool small);

} // namespace bench

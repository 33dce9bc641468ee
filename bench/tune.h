// SPDX-License-Identifier: Apache-2.0
// The tuning file that measured rows make: docs/tuning.md.
#pragma once

#include "items.h"

namespace bench {

// Writes an entry for each row whose choice a rival beats. False: the file cannot be written.
bool write_tuning(const std::string& path, const std::vector<Item>& items);

} // namespace bench

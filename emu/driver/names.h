// SPDX-License-Identifier: Apache-2.0
// Memory by name: what a launch's caller says its ranges are, for the findings of that launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu::driver {

struct NamedRange {
    std::string name;
    uint64_t address, bytes;
};
using Names = std::vector<NamedRange>;

// The finding with a line behind the first address of global memory: which range it lies in, or nearest to.
std::string with_names(std::string text, const Names& names);

} // namespace emu::driver

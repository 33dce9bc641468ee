// SPDX-License-Identifier: Apache-2.0
// Faults put into the results of a right run, between the device and the comparison: the proof that spark-check sees.
// Only --plant reaches this; no environment variable and no build option does.
#pragma once

#include "check/compare.h"

#include <span>
#include <string_view>

namespace check {

struct Plant {
    const char* name;
    const char* what;
};
std::span<const Plant> plants();

// Changes `images`, the memory after run number `run` (0, 1, ...). False if this case offers no place for the fault.
bool plant(std::string_view name, const Case& c, const Expectation& expected, const RunOptions& options, int run,
           std::vector<Image>& images);

} // namespace check

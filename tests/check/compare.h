// SPDX-License-Identifier: Apache-2.0
// Compares the memory after a run with what it may be. Order matters: a write outside its place is told before wrong
// numbers, and NaN or infinity in the wrong place before the size of an error.
#pragma once

#include "check/runner.h"

#include <map>
#include <string>
#include <vector>

namespace check {

// Allowed results by operand index.
using Expectation = std::map<size_t, std::vector<Allowed>>;

struct Verdict {
    std::vector<std::string> faults; // sentences; empty: all is well
};

Verdict compare(const Case& c, const Choice& kernel, const RunOptions& options, const Expectation& expected,
                const std::vector<Image>& got);

// Output elements of two runs, bit for bit, but for those that a launch leaves alone. Empty, or the first difference
// in words.
std::string differ(const Case& c, const Expectation& expected, const std::vector<Image>& first,
                   const std::vector<Image>& second);

// The same of a case and its twin, for the elements that stand in both. `shared` counts them.
std::string differ(const Case& c, const std::vector<Image>& images, const Twin& twin, const std::vector<Image>& others,
                   int64_t& shared);

// A hash of all output elements: equal bits give equal hashes in any process and on any driver.
uint64_t hash_outputs(const Case& c, const std::vector<Image>& images);

} // namespace check

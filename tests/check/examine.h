// SPDX-License-Identifier: Apache-2.0
// One case, from building it to its verdict: every legal kernel, every way of running it. Works in the child process.
#pragma once

#include "check/options.h"
#include "check/runner.h"

#include <string>
#include <vector>

namespace check {

// What became of one kernel of a case.
struct Result {
    enum Status { passed, failed, skipped } status = passed;
    std::string kernel = {};              // empty: the case as a whole
    std::string plant = {};               // the fault that was put into it
    std::vector<std::string> faults = {}; // sentences
    uint64_t hash = 0;                    // of the outputs
    bool exact = false;                   // the hash must be the same on every driver
    double seconds = 0;
    std::string measured = {}; // --bench
    Spent spent = {};          // by this and other kernels
};

std::vector<Result> examine(const Entry& entry, const Options& options, Runner& runner);

} // namespace check

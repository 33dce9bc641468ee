// SPDX-License-Identifier: Apache-2.0
// The child process that examines cases, as the parent sees it: a crash or a long silence is a failed case, after
// which a new child goes on with the next. The parent itself never loads a driver, but with --single.
#pragma once

#include "check/examine.h"

#include <functional>
#include <string>

namespace check {

// Called for each case that starts, and with its results when it has ended.
struct Listener {
    std::function<void(const Entry&)> begin;
    std::function<void(const Entry&, const std::vector<Result>&)> end;
    std::function<void(const std::string& device)> device;
};

// Runs all entries on one driver with one schedule. Empty, or why the driver could not be used at all.
std::string run_all(const std::vector<const Entry*>& entries, const Options& options, const std::string& driver,
                    const std::string& schedule, const Listener& listener);

} // namespace check

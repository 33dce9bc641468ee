// SPDX-License-Identifier: Apache-2.0
// The command line of spark-check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace check {

struct Options {
    std::vector<std::string> drivers = {"emu"};      // emu, gpu, oracle; "both" is emu and gpu
    std::string op = "*", kernel = "*", shape = "*"; // patterns; shape may be M,N,K
    uint64_t seed = 1;
    std::vector<std::string> schedules = {""}; // "random:7+late_reads=1"
    int64_t random = 0;                        // so many random cases per operator, beside the named ones
    std::string tier = "quick";                // quick, longer (with quick), card (all)
    int shard = 0, shards = 1;
    double timeout = 60; // seconds for one case
    std::string json, budgets;
    std::vector<std::string> plants; // faults, each put into the same results in turn
    bool bench = false, explain = false, list = false, progress = false, verbose = false;
    bool single = false; // this process, and each kernel in one way
    int repeats = -1;    // not given
};

// False: *error says why, or is empty if help was asked for and printed.
bool parse_options(int argc, char** argv, Options& options, std::string& error);

// '*' any characters; everything else is itself.
bool matches(const std::string& pattern, const std::string& text);

} // namespace check

// SPDX-License-Identifier: Apache-2.0
// What the emulator may spend on an operator, in warp instructions of the kernels of each contract: a count, the same
// on every computer, for the time that the short tier takes.
#pragma once

#include "check/runner.h"

#include <string>

namespace check {

class Budget {
public:
    static uint64_t sum(const Spent& spent);
    // A file with lines "OPERATOR/CONTRACT = MILLIONS"; what has none has that of "other". Empty, or what is wrong.
    std::string read(const std::string& path);
    void spend(const std::string& op, const Spent& spent);
    // A line for each operator and contract, as the file has them.
    std::string table() const;
    // A sentence for each that has spent more than the file gives it; none without a file.
    std::vector<std::string> exceeded() const;

private:
    std::string path_;
    std::map<std::string, double> given_;   // by operator and contract, which is a kernel's name before "__"
    std::map<std::string, uint64_t> spent_; // likewise
};

} // namespace check

// SPDX-License-Identifier: Apache-2.0
// See the header.
#include "check/budget.h"

#include <cstdio>
#include <fstream>

namespace check {

static constexpr double MILLION = 1e6;

uint64_t Budget::sum(const Spent& spent) {
    uint64_t all = 0;
    for (const auto& [kernel, count] : spent) {
        all += count;
    }
    return all;
}

void Budget::spend(const std::string& op, const Spent& spent) {
    for (const auto& [kernel, count] : spent) {
        spent_[op + "/" + kernel.substr(0, kernel.find("__"))] += count;
    }
}

std::string Budget::table() const {
    std::string text = spent_.empty() ? "" : "# millions of warp instructions\n";
    char line[160];
    for (const auto& [contract, count] : spent_) {
        std::snprintf(line, sizeof line, "%s = %.2f\n", contract.c_str(), static_cast<double>(count) / MILLION);
        text += line;
    }
    return text;
}

std::string Budget::read(const std::string& path) {
    path_ = path;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        char contract[100];
        double millions = 0;
        if (line.empty() || line[0] == '#') {
            continue;
        }
        if (std::sscanf(line.c_str(), "%99[a-z0-9_/] = %lf", contract, &millions) != 2 ||
            !given_.emplace(contract, millions).second) {
            return path + ": \"" + line + "\" is no budget, or a second one";
        }
    }
    return given_.contains("other") ? "" : path + " has no budget of others, or cannot be read";
}

std::vector<std::string> Budget::exceeded() const {
    std::vector<std::string> sentences;
    for (const auto& [contract, count] : spent_) {
        const auto own = given_.find(contract);
        if (given_.empty()) {
            break;
        }
        const double millions = own != given_.end() ? own->second : given_.at("other");
        if (static_cast<double>(count) <= millions * MILLION) {
            continue;
        }
        char text[400];
        std::snprintf(text, sizeof text,
                      "%s has spent %.2f million warp instructions, and has %g: make the cases that cost most smaller "
                      "or Tier::longer (--json tells what each costs), or change %s and say why",
                      contract.c_str(), static_cast<double>(count) / MILLION, millions, path_.c_str());
        sentences.push_back(text);
    }
    return sentences;
}

} // namespace check

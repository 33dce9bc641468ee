// SPDX-License-Identifier: Apache-2.0
// What the library calls a problem, itself and the chip stands in the last line of spark_op_explain.
#include "tune.h"

#include <cstdio>
#include <set>
#include <stdexcept>

namespace bench {
namespace {

struct Problem {
    std::string number, chip, library;
};

// "  problem NUMBER on chip CHIP, library LIBRARY; ..."
Problem problem_of(const Item& item) {
    const std::string text = item.explain(), first = "  problem ", second = " on chip ", third = ", library ";
    const size_t a = text.rfind(first), b = text.find(second, a), c = text.find(third, b), end = text.find(';', c);
    if (end == text.npos) throw std::runtime_error("spark_op_explain names no problem");
    const auto between = [&](size_t from, const std::string& word, size_t to) {
        return text.substr(from + word.size(), to - from - word.size());
    };
    return {between(a, first, b), between(b, second, c), between(c, third, end)};
}

} // namespace

bool write_tuning(const std::string& path, const std::vector<Item>& items) {
    const std::string fresh = path + ".new"; // a reader sees the old file or the whole new one
    FILE* file = std::fopen(fresh.c_str(), "w");
    if (!file) return false;
    std::set<std::string> written; // a file with two entries for a problem is refused
    bool is_first = true;
    for (const Item& item : items) {
        if (!item.explain) continue;
        const Problem problem = problem_of(item);
        if (is_first)
            std::fprintf(file, "libspark tuning 1\nlibrary %s\nchip %s\n", problem.library.c_str(),
                         problem.chip.c_str());
        is_first = false;
        if (!beaten(item) || !written.insert(problem.number).second) continue;
        std::fprintf(file, "%s %s %s %s: %.2f us, not %.2f\n", problem.number.c_str(), best(item).kernel.c_str(),
                     item.name.c_str(), item.shape.c_str(), best(item).median() * 1e3, item.ways[0].median() * 1e3);
    }
    return std::fclose(file) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0;
}

} // namespace bench

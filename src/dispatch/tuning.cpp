// SPDX-License-Identifier: Apache-2.0
// Reads what anybody may have written: every line is wanted exactly as spark-bench writes it.
#include "dispatch/tuning.h"

#include <algorithm>

namespace spark {
namespace {

constexpr std::string_view FIRST = "libspark tuning 1", LIBRARY = "library ", CHIP = "chip ";
constexpr size_t DIGITS = 16;

// What stands behind the first `count` characters; substr would bring the C++ runtime's exceptions in.
std::string_view behind(std::string_view text, size_t count) {
    text.remove_prefix(count);
    return text;
}

class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}
    // The next line without its end; every line must have one. Without one, `line` stays as it is.
    bool next(std::string_view& line) {
        const size_t end = rest_.find('\n');
        if (end == rest_.npos) return false;
        ++count;
        line = {rest_.data(), end};
        rest_.remove_prefix(end + 1);
        return true;
    }
    bool is_done() const { return rest_.empty(); }
    uint32_t count = 0;

private:
    std::string_view rest_;
};

// 16 hexadecimal digits, in small letters.
bool read_number(std::string_view digits, uint64_t& value) {
    value = 0;
    for (char c : digits) {
        const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
        if (!digit && !letter) return false;
        value = value << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
    }
    return digits.size() == DIGITS;
}

bool read_problem(std::string_view line, uint64_t& problem) {
    return line.size() > DIGITS && line[DIGITS] == ' ' && read_number({line.data(), DIGITS}, problem);
}

// "0123456789abcdef kernel", and behind a space whatever the writer wants to say. What is wrong with it, or nullptr.
const char* read_entry(std::string_view line, std::span<const Kernel* const> kernels, Tuned& entry) {
    if (!read_problem(line, entry.problem)) return "does not begin with a problem's 16 digits and a space";
    std::string_view name = behind(line, DIGITS + 1);
    name = {name.data(), std::min(name.find(' '), name.size())};
    entry.kernel_id = hash(name);
    const auto is_named = [&](const Kernel* k) { return k->id == entry.kernel_id && name == k->name; };
    return std::any_of(kernels.begin(), kernels.end(), is_named) ? nullptr : "names no kernel of this library";
}

bool earlier(const Tuned& a, const Tuned& b) { return a.problem < b.problem; }

// The line of the second entry for a problem.
uint32_t repeated_at(Lines lines, uint64_t problem) {
    std::string_view line;
    uint64_t found = 0;
    for (bool seen = false; lines.next(line);) {
        if (!read_problem(line, found) || found != problem) continue;
        if (seen) break;
        seen = true;
    }
    return lines.count;
}

// Of the three lines before the entries; `is` remains as it is if they are sound and for us.
TuningVerdict read_head(Lines& lines, const Tuning& us) {
    std::string_view read[3];
    const auto damaged = [&](const char* wrong) { return TuningVerdict{TuningIs::damaged, lines.count, wrong}; };
    const auto starts = [&](std::string_view& line, std::string_view with) {
        if (!lines.next(line)) ++lines.count;
        return line.starts_with(with);
    };
    if (!starts(read[0], FIRST) || read[0] != FIRST) return damaged("is not the first of a tuning file");
    if (!starts(read[1], LIBRARY)) return damaged("does not name a library");
    if (!starts(read[2], CHIP)) return damaged("does not name a chip");
    if (behind(read[1], LIBRARY.size()) != us.library) return {TuningIs::for_another_library};
    if (behind(read[2], CHIP.size()) != us.chip) return {TuningIs::for_another_chip};
    return {TuningIs::for_us};
}

} // namespace

TuningVerdict read_tuning(std::string_view text, const Tuning& us, std::span<const Kernel* const> kernels, Tuned* to,
                          uint32_t& count) {
    Lines lines(text);
    count = 0;
    const TuningVerdict head = read_head(lines, us);
    if (head.is != TuningIs::for_us) return head; // kernels of another library may have other names
    const Lines entries = lines;
    for (std::string_view line; !lines.is_done(); ++count) {
        if (!lines.next(line)) return {TuningIs::damaged, lines.count + 1, "has no end"};
        if (const char* wrong = read_entry(line, kernels, to[count])) return {TuningIs::damaged, lines.count, wrong};
    }
    std::sort(to, to + count, earlier);
    const auto same = [](const Tuned& a, const Tuned& b) { return a.problem == b.problem; };
    const Tuned* twice = std::adjacent_find(to, to + count, same);
    if (twice == to + count) return {TuningIs::for_us};
    return {TuningIs::damaged, repeated_at(entries, twice->problem), "names a problem that an earlier line names"};
}

uint64_t find_tuned(const Tuning& tuning, uint64_t problem) {
    const Tuned wanted = {problem, 0}, *end = tuning.tuned + tuning.count,
                *found = std::lower_bound(static_cast<const Tuned*>(tuning.tuned), end, wanted, earlier);
    return found != end && found->problem == problem ? found->kernel_id : 0;
}

} // namespace spark

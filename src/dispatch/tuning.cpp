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
    // The next line without its end; every line must have one.
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

// "0123456789abcdef kernel", and behind a space whatever the writer wants to say.
bool read_entry(std::string_view line, std::span<const Kernel* const> kernels, Tuned& entry) {
    if (line.size() <= DIGITS || line[DIGITS] != ' ' || !read_number({line.data(), DIGITS}, entry.problem))
        return false;
    std::string_view name = behind(line, DIGITS + 1);
    name = {name.data(), std::min(name.find(' '), name.size())};
    entry.kernel_id = hash(name);
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](const Kernel* k) { return k->id == entry.kernel_id && name == k->name; });
}

bool earlier(const Tuned& a, const Tuned& b) { return a.problem < b.problem; }

} // namespace

TuningIs read_tuning(std::string_view text, const Tuning& us, std::span<const Kernel* const> kernels, Tuned* to,
                     uint32_t& count, uint32_t& line) {
    Lines lines(text);
    std::string_view read;
    const auto is = [&](TuningIs what) {
        line = lines.count;
        return what;
    };
    count = 0;
    if (!lines.next(read) || read != FIRST) return is(TuningIs::damaged);
    if (!lines.next(read) || !read.starts_with(LIBRARY)) return is(TuningIs::damaged);
    const bool our_library = behind(read, LIBRARY.size()) == us.library;
    if (!lines.next(read) || !read.starts_with(CHIP)) return is(TuningIs::damaged);
    if (!our_library) return is(TuningIs::for_another_library); // whose kernels may have other names
    if (behind(read, CHIP.size()) != us.chip) return is(TuningIs::for_another_chip);
    while (!lines.is_done()) {
        if (!lines.next(read) || !read_entry(read, kernels, to[count])) return is(TuningIs::damaged);
        ++count;
    }
    std::sort(to, to + count, earlier);
    const auto same = [](const Tuned& a, const Tuned& b) { return a.problem == b.problem; };
    return is(std::adjacent_find(to, to + count, same) == to + count ? TuningIs::for_us : TuningIs::damaged);
}

uint64_t find_tuned(const Tuning& tuning, uint64_t problem) {
    const Tuned wanted = {problem, 0}, *end = tuning.tuned + tuning.count,
                *found = std::lower_bound(static_cast<const Tuned*>(tuning.tuned), end, wanted, earlier);
    return found != end && found->problem == problem ? found->kernel_id : 0;
}

} // namespace spark

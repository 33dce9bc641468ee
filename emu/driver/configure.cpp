// SPDX-License-Identifier: Apache-2.0
// The words of LIBSPARK_EMU. `profile`, `multiprocessors`, `report` and `clock` are the façade's; every other word is
// the engine's (parse_options).
#include "emu/driver/configure.h"

#include "emu/driver/call.h"
#include "emu/include/spark_emu.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

namespace emu::driver {

namespace {

// The words that are the façade's; none is set twice.
struct Words {
    const DeviceProfile* profile = nullptr;
    std::optional<uint32_t> multiprocessors;
    std::optional<std::string> target;
    std::optional<bool> clock_counts;
    std::string engine; // all others
};

std::string wrong(std::string_view word, const std::string& why) { return std::string(word) + " is wrong: " + why; }

std::string read_profile(std::string_view word, Words& out) {
    if (out.profile) return wrong(word, "profile is given twice");
    out.profile = find_profile(word.substr(word.find('=') + 1));
    if (out.profile) return "";
    std::string known;
    for (const DeviceProfile* p : all_profiles()) known += std::string(known.empty() ? "" : ", ") + p->key;
    return wrong(word, "it takes one of " + known);
}

std::string read_multiprocessors(std::string_view word, Words& out) {
    if (out.multiprocessors) return wrong(word, "multiprocessors is given twice");
    const std::string_view value = word.substr(word.find('=') + 1);
    uint32_t count = 0;
    const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), count);
    if (error != std::errc() || stop != value.data() + value.size() || count == 0)
        return wrong(word, "it takes a number from 1 to the multiprocessors of the profile");
    out.multiprocessors = count;
    return "";
}

// A file is told from a misspelt word by its '/' or '.', and must be one that can be written.
std::string read_target(std::string_view word, Words& out) {
    if (out.target) return wrong(word, "report is given twice");
    const std::string value(word.substr(word.find('=') + 1));
    out.target = value == "none" ? "" : value;
    if (value == "none" || value == "stderr") return "";
    if (value.find_first_of("./") == std::string::npos)
        return wrong(word, "it takes none, stderr, or a file's name with a '/' or a '.' in it");
    FILE* file = fopen(value.c_str(), "a");
    if (!file) return wrong(word, "the file cannot be written");
    fclose(file);
    return "";
}

std::string read_clock(std::string_view word, Words& out) {
    if (out.clock_counts) return wrong(word, "clock is given twice");
    const std::string_view value = word.substr(word.find('=') + 1);
    if (value != "host" && value != "counted") return wrong(word, "it takes host or counted");
    out.clock_counts = value == "counted";
    return "";
}

std::string read_words(std::string_view text, Words& out) {
    for (size_t at = 0; at < text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view word = text.substr(at, comma - at), name = word.substr(0, word.find('='));
        at = comma + 1;
        std::string problem;
        const bool valued = word != name;
        if (name == "profile" && valued) problem = read_profile(word, out);
        else if (name == "multiprocessors" && valued) problem = read_multiprocessors(word, out);
        else if (name == "report" && valued) problem = read_target(word, out);
        else if (name == "clock" && valued) problem = read_clock(word, out);
        else if (name == "profile" || name == "multiprocessors" || name == "report" || name == "clock")
            problem = wrong(word, "its value is missing");
        else out.engine += std::string(out.engine.empty() ? "" : ",") + std::string(word);
        if (!problem.empty()) return problem;
    }
    return "";
}

// The card: a profile, or as many of its multiprocessors.
std::string choose_card(State& s, const Words& words) {
    if (!words.profile && !words.multiprocessors) return "";
    const DeviceProfile* profile = words.profile ? words.profile : s.profile ? s.profile : find_profile("gb10");
    const uint32_t count = words.multiprocessors.value_or(profile->sm_count);
    if (s.initialised) {
        if (std::strcmp(profile->key, s.profile->key) != 0) return "profile= can only be set before cuInit";
        if (words.multiprocessors && count != s.profile->sm_count)
            return "multiprocessors= can only be set before cuInit";
        return "";
    }
    const uint32_t most = find_profile(profile->key)->sm_count;
    if (count > most)
        return "multiprocessors=" + std::to_string(count) + " is wrong: " + profile->key + " has " +
               std::to_string(most);
    s.card = *profile;
    s.card.sm_count = count;
    s.profile = &s.card;
    return "";
}

} // namespace

std::string configure(std::string_view text) {
    State& s = state();
    Words words;
    if (std::string problem = read_words(text, words); !problem.empty()) return problem;
    Options options = s.options;
    if (std::string problem = parse_options(words.engine, options); !problem.empty()) return problem;
    if (std::string problem = choose_card(s, words); !problem.empty()) return problem;
    s.options = options;
    if (words.clock_counts) s.clock_counts = *words.clock_counts;
    if (words.target) set_report_target(*words.target);
    reseed(options.seed);
    return "";
}

} // namespace emu::driver

using namespace emu::driver;

extern "C" int spark_emu_configure(const char* text) {
    Lock lock(state().mutex);
    const std::string problem = configure(text ? text : "");
    if (problem.empty()) return 0;
    remark("spark_emu_configure: " + problem);
    return 1;
}

extern "C" void spark_emu_recover(void) {
    Lock lock(state().mutex);
    state().fault = CUDA_SUCCESS;
    state().contexts.each([](CUcontext, Context& context) { context.sticky = CUDA_SUCCESS; });
}

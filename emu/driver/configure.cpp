// SPDX-License-Identifier: Apache-2.0
// The words of LIBSPARK_EMU. `profile`, `report` and `clock` are the façade's; every other word is the engine's
// (parse_options).
#include "emu/driver/configure.h"

#include "emu/driver/call.h"
#include "emu/include/spark_emu.h"

#include <cstdio>
#include <optional>

namespace emu::driver {

namespace {

// The words that are the façade's; none is set twice.
struct Words {
    const DeviceProfile* profile = nullptr;
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
        else if (name == "report" && valued) problem = read_target(word, out);
        else if (name == "clock" && valued) problem = read_clock(word, out);
        else if (name == "profile" || name == "report" || name == "clock")
            problem = wrong(word, "its value is missing");
        else out.engine += std::string(out.engine.empty() ? "" : ",") + std::string(word);
        if (!problem.empty()) return problem;
    }
    return "";
}

} // namespace

std::string configure(std::string_view text) {
    State& s = state();
    Words words;
    if (std::string problem = read_words(text, words); !problem.empty()) return problem;
    if (s.initialised && words.profile && words.profile != s.profile) return "profile= can only be set before cuInit";
    Options options = s.options;
    if (std::string problem = parse_options(words.engine, options); !problem.empty()) return problem;
    if (words.profile) s.profile = words.profile;
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

// SPDX-License-Identifier: Apache-2.0
// The words of Options:
// "seed=7,sched=random,merge=late,async=random,late_reads=1,race=0,undefined=0,fuzz=1,threads=2,limit=1000000"
#include <cstdlib>

#include "../engine.h"

namespace emu {
namespace {

bool number(std::string_view text, uint64_t& out) {
    std::string s(text);
    char* end = nullptr;
    out = strtoull(s.c_str(), &end, 0);
    return !s.empty() && *end == '\0';
}
bool flag(std::string_view text, bool& out) {
    uint64_t v = 0;
    if (!number(text, v) || v > 1) return false;
    out = v;
    return true;
}
template <class E, size_t N> bool choice(std::string_view text, const std::string_view (&names)[N], E& out) {
    for (size_t i = 0; i < N; i++) {
        if (names[i] != text) continue;
        out = E(i);
        return true;
    }
    return false;
}
const std::string_view SCHEDULES[] = {"round_robin", "random", "starve_low", "starve_high"};
const std::string_view MERGES[] = {"ipdom", "late", "random"};
const std::string_view TIMINGS[] = {"late", "early", "random"};

std::string one(std::string_view name, std::string_view value, Options& o) {
    uint64_t n = 0;
    auto say = [&](bool good, const char* allowed) {
        return good ? std::string() : std::string(name) + "=" + std::string(value) + " is wrong: it takes " + allowed;
    };
    if (name == "seed") return say(number(value, o.seed), "a number");
    if (name == "sched")
        return say(choice(value, SCHEDULES, o.schedule), "round_robin, random, starve_low or starve_high");
    if (name == "merge") return say(choice(value, MERGES, o.merge), "ipdom, late or random");
    if (name == "async") return say(choice(value, TIMINGS, o.async), "late, early or random");
    if (name == "late_reads") return say(flag(value, o.late_reads), "0 or 1");
    if (name == "race") return say(flag(value, o.check_race), "0 or 1");
    if (name == "undefined") return say(flag(value, o.check_undefined), "0 or 1");
    if (name == "bounds") return say(value == "1", "1: bounds are always checked");
    if (name == "fuzz") return say(flag(value, o.fuzz_approx), "0 or 1");
    if (name == "limit") return say(number(value, o.max_warp_instructions), "a number of warp instructions");
    if (name == "threads") {
        bool good = number(value, n) && n <= 1024;
        if (good) o.threads = uint32_t(n);
        return say(good, "a number of host threads, 0 for all cores");
    }
    return "'" + std::string(name) +
           "' is not known; there are seed, sched, merge, async, late_reads, race, undefined, bounds, "
           "fuzz, limit and threads";
}
} // namespace

std::string parse_options(std::string_view text, Options& out) {
    Options o = out;
    while (!text.empty()) {
        size_t comma = text.find(',');
        std::string_view word = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        if (word.empty()) continue;
        size_t eq = word.find('=');
        std::string problem =
            one(word.substr(0, eq), eq == std::string_view::npos ? std::string_view() : word.substr(eq + 1), o);
        if (!problem.empty()) return problem;
    }
    out = o;
    return {};
}

} // namespace emu

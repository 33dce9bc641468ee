// SPDX-License-Identifier: Apache-2.0
// The words of Options:
// "seed=7,sched=random,merge=late,async=random,late_reads=1,race=0,undefined=0,approx=fuzz,threads=2,limit=1000000"
// A word that is not understood is refused with a sentence: a run that varies nothing must not pass for one that does.
#include <charconv>
#include <set>

#include "../engine.h"

namespace emu {
namespace {

// Decimal, or hexadecimal after 0x; no sign, no exponent, nothing beyond 64 bits.
bool number(std::string_view text, uint64_t& out) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    const char* end = text.data() + text.size();
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    if (text.empty() || error != std::errc() || stop != end) return false;
    out = value;
    return true;
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
const std::string_view APPROX[] = {"card", "nearest", "fuzz"};
const std::string_view FP4_SUMS[] = {"35", "25"};

const char* const NUMBER = "a whole number from 0 to 18446744073709551615";

std::string one(std::string_view name, std::string_view value, Options& o) {
    uint64_t n = 0;
    auto say = [&](bool good, const char* allowed) {
        return good ? std::string() : std::string(name) + "=" + std::string(value) + " is wrong: it takes " + allowed;
    };
    if (name == "seed") return say(number(value, o.seed), NUMBER);
    if (name == "sched")
        return say(choice(value, SCHEDULES, o.schedule), "round_robin, random, starve_low or starve_high");
    if (name == "merge") return say(choice(value, MERGES, o.merge), "ipdom, late or random");
    if (name == "async") return say(choice(value, TIMINGS, o.async), "late, early or random");
    if (name == "late_reads") return say(flag(value, o.late_reads), "0 or 1");
    if (name == "race") return say(flag(value, o.check_race), "0 or 1");
    if (name == "global_races") return say(flag(value, o.global_races), "0 or 1");
    if (name == "undefined") return say(flag(value, o.check_undefined), "0 or 1");
    if (name == "bounds") return say(value == "1", "1: bounds are always checked");
    if (name == "approx") return say(choice(value, APPROX, o.approx), "card, nearest or fuzz");
    if (name == "fp4_sum") return say(choice(value, FP4_SUMS, o.fp4_sum), "35 or 25");
    if (name == "limit") return say(number(value, o.limit), NUMBER);
    if (name == "warp_limit") return say(number(value, o.warp_limit), NUMBER);
    if (name == "threads") {
        bool good = number(value, n) && n <= 1024;
        if (good) o.threads = uint32_t(n);
        return say(good, "a number of host threads up to 1024, 0 for all cores");
    }
    return "'" + std::string(name) +
           "' is not known; known: seed, sched, merge, async, late_reads, race, global_races, undefined, bounds, "
           "approx, fp4_sum, limit, warp_limit, threads, profile, multiprocessors, report and clock";
}
} // namespace

std::string parse_options(std::string_view text, Options& out) {
    Options o = out;
    std::set<std::string_view> given;
    while (!text.empty()) {
        size_t comma = text.find(',');
        std::string_view word = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        if (word.empty()) continue;
        const size_t eq = word.find('=');
        const std::string_view name = word.substr(0, eq);
        if (!given.insert(name).second)
            return std::string(word) + " is wrong: " + std::string(name) + " is given twice";
        std::string problem = one(name, eq == std::string_view::npos ? std::string_view() : word.substr(eq + 1), o);
        if (!problem.empty()) return problem;
    }
    out = o;
    return {};
}

} // namespace emu

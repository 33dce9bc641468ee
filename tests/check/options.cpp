// SPDX-License-Identifier: Apache-2.0
// Parses the command line of spark-check.
#include "check/options.h"
#include "check/case.h"
#include "check/plant.h"

#include <cstdio>
#include <cstring>
#include <sstream>

namespace check {

static const char HELP[] =
    R"(spark-check: every kernel that is legal for a case gives a right answer, and touches nothing else.

usage: spark-check [--driver emu|gpu|both|oracle] [--op P] [--kernel P] [--shape P|M,N,K] [--seed S] [--sched S]
                   [--bench] [--explain] [--list] [--json F] [-v]

what to run
  --driver D     emu (default): the emulator; gpu: the card; both: one after the other, results compared;
                 oracle: no device at all, to test the comparison itself
  --op P         operators whose name matches P ('*' stands for anything)
  --kernel P     kernels whose name matches P
  --shape P      cases whose name matches P; or numbers, for plain cases of those dimensions, given at the end
  --tier T       quick (default), longer (quick and what takes the emulator seconds), card (all)
  --random N     N random cases per operator beside the named ones
  --seed S       of the inputs and of the random cases (default 1)
  --sched S,...  emulator: one run of everything per schedule: round_robin, random:SEED, starve_low, starve_high;
                 more words of LIBSPARK_EMU with '+': random:7+late_reads=1+async=random
  --shard I/N    every N-th case, from the I-th (from 0) on
  --timeout S    seconds for one case (default 60); a case that takes longer has failed
what to do
  --list         print the cases and stop            --explain      print the dispatch table of each case and stop
  --bench        measure instead of compare          --single       one process, one launch of each kernel: for
                                                                    compute-sanitizer and debuggers
  --repeats N    launches more of each kernel, which must give the same bits (default: 4 on a card); with --bench,
                 timed launches (default 20)
  --json F       write results to F                  --progress     show the case at work
  --budgets F    fail where a contract costs the emulator more warp instructions than F says (tests/ops/budgets.toml)
  -v             one line per kernel                 --plant F,...  put faults into right results, each in turn:
)";

bool matches(const std::string& pattern, const std::string& text) {
    size_t p = 0, t = 0, star = std::string::npos, mark = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = t;
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string::npos) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') {
        ++p;
    }
    return p == pattern.size();
}

static std::vector<std::string> split(const std::string& text, char by) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, by);) {
        parts.push_back(part);
    }
    return parts;
}

static bool set_driver(Options& options, const std::string& value) {
    if (value == "both") {
        options.drivers = {"emu", "gpu"};
    } else {
        options.drivers = {value};
    }
    return value == "both" || value == "emu" || value == "gpu" || value == "oracle";
}

static bool set_plant(Options& options, const std::string& value) {
    options.plants = split(value, ',');
    return std::all_of(options.plants.begin(), options.plants.end(), [](const std::string& given) {
        return std::any_of(plants().begin(), plants().end(), [&](const Plant& plant) { return given == plant.name; });
    });
}

// One option with its value; false if either is wrong.
static bool set(Options& options, const std::string& name, const std::string& value) {
    try {
        if (name == "--driver") {
            return set_driver(options, value);
        } else if (name == "--op") {
            options.op = value;
        } else if (name == "--kernel") {
            options.kernel = value;
        } else if (name == "--shape") {
            options.shape = value;
        } else if (name == "--tier") {
            options.tier = value;
            return value == "quick" || value == "longer" || value == "card";
        } else if (name == "--random") {
            options.random = std::stoll(value);
        } else if (name == "--seed") {
            options.seed = std::stoull(value);
        } else if (name == "--sched") {
            options.schedules = split(value, ',');
        } else if (name == "--shard") {
            return std::sscanf(value.c_str(), "%d/%d", &options.shard, &options.shards) == 2 && options.shards > 0;
        } else if (name == "--timeout") {
            options.timeout = std::stod(value);
        } else if (name == "--repeats") {
            options.repeats = std::stoi(value);
            return options.repeats >= 0;
        } else if (name == "--json") {
            options.json = value;
        } else if (name == "--budgets") {
            options.budgets = value;
        } else if (name == "--plant") {
            return set_plant(options, value);
        } else {
            return false;
        }
    } catch (const std::exception&) {
        return false; // not a number
    }
    return true;
}

static void print_help() {
    std::fputs(HELP, stdout);
    for (const Plant& plant : plants()) {
        std::printf("                   %-17s %s\n", plant.name, plant.what);
    }
    std::printf("operators, and the dimensions that --shape takes\n");
    for (const OpCases& family : families()) {
        std::printf("  %-14s %s\n", family.op, family.dims);
    }
}

bool parse_options(int argc, char** argv, Options& options, std::string& error) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") {
            print_help();
            return false;
        }
        if (name == "--bench") {
            options.bench = true;
        } else if (name == "--explain") {
            options.explain = true;
        } else if (name == "--list") {
            options.list = true;
        } else if (name == "--single") {
            options.single = true;
        } else if (name == "--progress") {
            options.progress = true;
        } else if (name == "-v") {
            options.verbose = true;
        } else if (i + 1 >= argc) {
            error = name + " needs a value, or is not an option (--help lists them)";
            return false;
        } else if (!set(options, name, argv[i + 1])) {
            error = name + " " + argv[i + 1] + ": no such option, or not a value for it (--help lists them)";
            return false;
        } else {
            ++i;
        }
    }
    if (options.single && (options.drivers.size() > 1 || options.schedules.size() > 1)) {
        error = "--single: one process has one driver and one schedule";
        return false;
    }
    return true;
}

} // namespace check

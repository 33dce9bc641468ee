// SPDX-License-Identifier: Apache-2.0
// One case, from building it to its verdict; see the header.
#include "check/examine.h"

#include "check/compare.h"
#include "check/plant.h"

#include <chrono>
#include <cstdio>

namespace check {
namespace {

Expectation expectation_of(const Case& c, const std::string& kernel) {
    Expectation expected;
    for (size_t i = 0; i < c.operands.size(); ++i) {
        if (c.operands[i].output) {
            expected[i] = c.expected(i, kernel);
        }
    }
    return expected;
}

// The ways to run one kernel. The first has guard zones; the second other poison and no room behind any buffer, so that
// it finds what was not written and what was read too far; the third, for the library's own choice, goes through a
// graph. On a card more runs follow, since no two are scheduled alike: repeated launches are how races were found.
struct Way {
    const char* name;
    RunOptions options;
};

std::vector<Way> ways_of(const Case& c, const Choice& kernel, bool first_kernel, const Options& options,
                         const Runner& runner) {
    if (options.single) {
        return {{"single", {.poison = 0xc5, .tight = true, .chunks = true, .alone = true}}};
    }
    std::vector<Way> ways = {{"guarded", {.poison = 0xff}}, {"tight", {.poison = 0xc5, .tight = true}}};
    if (first_kernel) {
        ways.push_back({"graph", {.poison = 0xff, .graph = true}});
    }
    size_t bytes = 0;
    for (const Storage& storage : c.storages) {
        bytes += storage.bytes.size();
    }
    constexpr size_t QUICK = size_t{1} << 28; // what is copied and compared in well under a second
    const int repeats = options.repeats >= 0 ? options.repeats : runner.real() && bytes < QUICK ? 4 : 0;
    if (repeats > 0 && kernel.deterministic) {
        ways.push_back({"repeated", {.poison = 0xc5, .tight = true, .again = repeats - 1}});
    } else {
        ways.insert(ways.end(), static_cast<size_t>(repeats), {"repeated", {.poison = 0xc5, .tight = true}});
    }
    return ways;
}

Result run_kernel(const Case& c, const Choice& kernel, bool first_kernel, const std::string& fault_name,
                  const Options& options, Runner& runner) {
    Result result;
    result.kernel = kernel.name;
    result.plant = fault_name;
    result.exact = c.exact;
    const Expectation expected = expectation_of(c, kernel.name);
    std::vector<Image> first;
    bool planted = false;
    int run = 0;
    for (const Way& way : ways_of(c, kernel, first_kernel, options, runner)) {
        const auto fault = [&](const std::string& text) {
            result.faults.push_back(std::string(way.name).append(" run: ").append(text));
        };
        Choice choice = kernel;
        if (way.options.graph) {
            choice.id = 0; // what a caller gets
        }
        std::vector<Image> images;
        if (std::string error = runner.run(c, choice, way.options, images); !error.empty()) {
            fault(error);
            break;
        }
        if (!fault_name.empty()) {
            planted |= plant(fault_name, c, expected, way.options, run, images);
        }
        for (const std::string& text : compare(c, kernel, way.options, expected, images).faults) {
            fault(text);
        }
        if (run++ == 0) {
            first = std::move(images);
            result.hash = hash_outputs(c, first);
        } else if (result.faults.empty() && kernel.deterministic) {
            if (std::string text = differ(c, expected, first, images); !text.empty()) {
                fault("not repeatable: " + text);
            }
        }
        if (!result.faults.empty()) {
            break;
        }
    }
    result.status = !result.faults.empty()          ? Result::failed
                    : fault_name.empty() || planted ? Result::passed
                                                    : Result::skipped;
    return result;
}

// The library's own choice for a call, as a caller gets it.
std::string run_chosen(const Case& c, Runner& runner, std::string& kernel, std::vector<Image>& images) {
    std::vector<Choice> kernels;
    if (std::string error = runner.kernels(c, kernels); !error.empty() || kernels.empty()) {
        return kernels.empty() && error.empty() ? "nothing to launch" : error;
    }
    kernel = kernels[0].name;
    Choice choice = kernels[0];
    choice.id = 0;
    return runner.run(c, choice, {.poison = 0xc5, .tight = true}, images);
}

// The case against its twins, each by the kernel that the library takes, and against the kernels that are alike.
Result run_twins(const Case& c, const std::vector<Choice>& kernels, Runner& runner) {
    Result result{.kernel = "(twins)"};
    std::vector<Image> images, others;
    const auto fault = [&](const std::string& who, const std::string& text) {
        if (!text.empty()) {
            result.faults.push_back(std::string(who).append(": ").append(text));
            result.status = Result::failed;
        }
    };
    std::string chosen;
    fault("the case", run_chosen(c, runner, chosen, images));
    const Twin itself{"", c, [](size_t, int64_t index) { return index; }};
    int64_t shared = 0;
    for (const Choice& kernel : kernels) {
        if (!result.faults.empty() || !c.alike || !c.alike(kernel.name)) {
            continue;
        }
        const std::string error = runner.run(c, kernel, {.poison = 0xc5, .tight = true}, others);
        fault(kernel.name + " for " + chosen, error.empty() ? differ(c, images, itself, others, shared) : error);
    }
    for (const Twin& twin : c.twins) {
        if (!runner.usable() || images.empty()) {
            break;
        }
        std::string kernel;
        shared = 0;
        const std::string error = run_chosen(twin.call, runner, kernel, others);
        fault(twin.change + ", " + kernel + " for " + chosen,
              error.empty() ? differ(c, images, twin, others, shared) : error);
        if (error.empty() && shared == 0) {
            fault(twin.change, "no element of the case stands in the twin");
        }
    }
    return result;
}

Result measure(const Case& c, const Choice& kernel, const Options& options, Runner& runner) {
    Result result;
    result.kernel = kernel.name;
    double median = 0, least = 0;
    uint64_t flops = 0, bytes = 0;
    const int repeats = options.repeats > 0 ? options.repeats : 20;
    if (std::string error = runner.bench(c, kernel, repeats, median, least, flops, bytes); !error.empty()) {
        result.status = Result::failed;
        result.faults.push_back(error);
        return result;
    }
    char text[200];
    std::snprintf(text, sizeof text, "median %9.4f ms  least %9.4f ms  %8.2f TFLOPS  %8.1f GB/s", median, least,
                  static_cast<double>(flops) / median * 1e-9, static_cast<double>(bytes) / median * 1e-6);
    result.measured = text;
    return result;
}

} // namespace

std::vector<Result> examine(const Entry& entry, const Options& options, Runner& runner) {
    std::vector<Result> results;
    const Case c = entry.build(options.seed);
    std::vector<Choice> kernels;
    if (options.explain) {
        results.push_back({.status = Result::skipped, .measured = runner.explain(c)});
        return results;
    }
    if (std::string error = runner.kernels(c, kernels); !error.empty()) {
        results.push_back({.status = Result::failed, .faults = {error}});
        return results;
    }
    if (kernels.empty()) {
        kernels.push_back({"(nothing to launch)"}); // must still succeed, and touch nothing
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
        if (!matches(options.kernel, kernels[i].name)) {
            continue;
        }
        if (!runner.usable()) { // a card does not survive a fault; the next case has a new process
            results.push_back(
                {.status = Result::failed, .kernel = kernels[i].name, .faults = {"not run: the device failed before"}});
            continue;
        }
        for (const std::string& fault : options.plants.empty() ? std::vector<std::string>{""} : options.plants) {
            const auto begin = std::chrono::steady_clock::now();
            results.push_back(options.bench ? measure(c, kernels[i], options, runner)
                                            : run_kernel(c, kernels[i], i == 0, fault, options, runner));
            results.back().seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            results.back().spent = runner.spent();
        }
    }
    if (!c.twins.empty() && runner.usable() && runner.computes() && !options.bench && !options.single &&
        options.plants.empty() && options.kernel == "*") {
        results.push_back(run_twins(c, kernels, runner));
        results.back().spent = runner.spent();
    }
    return results;
}

} // namespace check

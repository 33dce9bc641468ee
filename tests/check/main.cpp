// SPDX-License-Identifier: Apache-2.0
// spark-check: lists the cases, has them examined in child processes, tells what failed and how to see it again.
#include "check/budget.h"
#include "check/pool.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

namespace check {
namespace {

// The numbers that a shape like "512,512,64" or "512,512,64.tn*" starts with; none for a name.
std::vector<int64_t> dims_of(const std::string& shape) {
    std::vector<int64_t> dims;
    const char* at = shape.c_str();
    while (*at >= '0' && *at <= '9') {
        char* end = nullptr;
        dims.push_back(std::strtoll(at, &end, 10));
        at = *end == ',' ? end + 1 : end;
    }
    return *at == '\0' || *at == '.' ? dims : std::vector<int64_t>();
}

std::vector<std::unique_ptr<Entry>> list_entries(const Options& options) {
    std::vector<std::unique_ptr<Entry>> chosen;
    const Tier tier = options.tier == "card" ? Tier::card : options.tier == "longer" ? Tier::longer : Tier::quick;
    int index = 0;
    const std::vector<int64_t> dims = dims_of(options.shape);
    const auto consider = [&](Entry entry) {
        const bool wanted =
            matches(options.shape, entry.name) || (!dims.empty() && matches(options.shape + ".*", entry.name));
        if (wanted && index++ % options.shards == options.shard) {
            chosen.push_back(std::make_unique<Entry>(std::move(entry)));
        }
    };
    for (const OpCases& family : families()) {
        if (!matches(options.op, family.op)) {
            continue;
        }
        std::vector<Entry> named;
        family.named(named);
        for (Entry& entry : named) {
            // A case asked for by its very name runs whatever its tier.
            if (entry.tier <= tier || entry.name == options.shape) {
                consider(std::move(entry));
            }
        }
        if (!dims.empty()) {
            std::vector<Entry> sized;
            family.sized(dims, sized);
            std::for_each(sized.begin(), sized.end(), [&](Entry& entry) { consider(std::move(entry)); });
        }
        for (int64_t i = 0; i < options.random; ++i) {
            consider(family.random(options.seed, i));
        }
        if (options.random == 0 && options.shape.starts_with("random_")) {
            consider(family.random(options.seed, std::atoll(options.shape.c_str() + 7)));
        }
    }
    return chosen;
}

// Everything that was found, as it is printed, counted and written to --json.
class Report {
public:
    explicit Report(const Options& options) : options_(options) {
        if (const std::string error = options.budgets.empty() ? "" : budget_.read(options.budgets); !error.empty()) {
            std::fprintf(stderr, "spark-check: %s\n", error.c_str());
            std::exit(2);
        }
        if (!options.json.empty()) {
            json_ = std::fopen(options.json.c_str(), "w");
            if (!json_) {
                std::perror(options.json.c_str());
                std::exit(2);
            }
            std::fprintf(json_, "{\"results\": [");
        }
    }

    void start(const std::string& driver, const std::string& schedule) {
        driver_ = driver;
        schedule_ = schedule;
        device_.clear();
    }
    void device(const std::string& name) {
        if (device_.empty()) {
            device_ = name;
            std::printf("# %s%s%s\n", name.c_str(), schedule_.empty() ? "" : ", schedule ", schedule_.c_str());
        }
    }
    void begin(const Entry& entry) {
        if (options_.progress) {
            std::fprintf(stderr, "\r\033[K%d passed, %d failed  %s/%s", passed, failed, entry.op.c_str(),
                         entry.name.c_str());
        }
    }
    void end(const Entry& entry, const std::vector<Result>& results) {
        if (options_.progress) {
            std::fprintf(stderr, "\r\033[K");
        }
        for (const Result& r : results) {
            one(entry, r);
            budget_.spend(entry.op, r.spent);
        }
        compare_kernels(entry, results);
    }
    // Kernels of one contract (the same name before "__") are interchangeable: where only exact instructions are used
    // they give the same bits; elsewhere each is within its bound, and how many agree to the bit is told.
    void compare_kernels(const Entry& entry, const std::vector<Result>& results) {
        for (const Result& r : results) {
            const Result& other = results.front();
            const bool comparable = &r != &other && r.status == Result::passed && other.status == Result::passed;
            if (!comparable || options_.bench ||
                r.kernel.substr(0, r.kernel.find("__")) != other.kernel.substr(0, other.kernel.find("__"))) {
                continue;
            }
            (r.hash == other.hash ? same_bits_ : other_bits_) += 1;
            if (r.exact && r.hash != other.hash) {
                one(entry, {.status = Result::failed,
                            .kernel = r.kernel,
                            .faults = {"a copy, but not the bits of " + other.kernel}});
            }
        }
    }
    // Both drivers have run: the same kernel on the same case gives the same bits where only exact instructions are
    // used;
    // elsewhere both are within their bound (each was compared with the oracle), and the share of equal ones is told.
    void compare_drivers() {
        int64_t equal = 0, different = 0;
        for (const auto& [key, hashes] : hashes_) {
            if (hashes.size() < 2) {
                continue;
            }
            const std::set<uint64_t> distinct(hashes.begin(), hashes.end());
            (distinct.size() == 1 ? equal : different) += 1;
            if (distinct.size() > 1 && exact_.contains(key)) {
                ++failed;
                std::printf("FAIL  %s: only exact instructions, but the drivers differ\n", key.c_str());
            } else if (distinct.size() > 1 && options_.verbose) {
                std::printf("differs within bounds  %s\n", key.c_str());
            }
        }
        std::printf("# both drivers: %lld bit-equal, %lld differ within their bounds\n", static_cast<long long>(equal),
                    static_cast<long long>(different));
    }
    int finish() {
        if (json_) {
            std::fprintf(json_, "\n], \"passed\": %d, \"failed\": %d}\n", passed, failed);
            std::fclose(json_);
        }
        if (options_.explain) {
            return 0;
        }
        if (passed + failed + skipped == 0 && options_.plants.empty()) {
            std::fprintf(stderr, "spark-check: no kernel that is legal for these cases matches %s\n",
                         options_.kernel.c_str());
            return 2;
        }
        if (skipped > 0) {
            std::printf("# %d skipped\n", skipped);
        }
        std::printf("%s", options_.verbose || !options_.budgets.empty() ? budget_.table().c_str() : "");
        for (const std::string& sentence : budget_.exceeded()) {
            ++failed;
            std::printf("FAIL  %s\n", sentence.c_str());
        }
        if (options_.plants.empty() && same_bits_ + other_bits_ > 0) {
            std::printf("# kernels of one contract on one case: %d pairs bit-equal, %d differ within their bounds\n",
                        same_bits_, other_bits_);
        }
        for (const auto& [plant, seen] : planted_) {
            std::printf("# planted %s: %d found, %d unseen\n", plant.c_str(), seen.found, seen.unseen);
        }
        std::printf("%d passed, %d failed\n", passed, failed);
        return failed > 0 ? 1 : 0;
    }
    int passed = 0, failed = 0, skipped = 0;

private:
    std::string replay(const Entry& entry, const Result& r) const {
        std::string text = "spark-check --driver " + driver_ + " --op " + entry.op + " --shape " + entry.name;
        if (!r.kernel.empty() && r.kernel[0] != '(') {
            text += " --kernel " + r.kernel;
        }
        text += " --seed " + std::to_string(options_.seed);
        if (!schedule_.empty()) {
            text += " --sched " + schedule_;
        }
        if (!r.plant.empty()) {
            text += " --plant " + r.plant;
        }
        return text;
    }

    void one(const Entry& entry, const Result& r) {
        const std::string key = entry.op + "/" + entry.name + " " + r.kernel;
        (r.status == Result::passed ? passed : r.status == Result::failed ? failed : skipped) += 1;
        if (!r.plant.empty()) {
            planted_[r.plant].found += r.status == Result::failed;
            planted_[r.plant].unseen += r.status == Result::passed;
        }
        if (r.status == Result::passed) {
            hashes_[key].push_back(r.hash);
            if (r.exact) {
                exact_.insert(key);
            }
        }
        if (r.status == Result::failed) {
            std::printf("FAIL  %s\n", key.c_str());
            for (const std::string& text : r.faults) {
                std::printf("      %s\n", text.c_str());
            }
            std::printf("      %s\n", replay(entry, r).c_str());
        } else if (!r.measured.empty()) {
            std::printf("%-90s %s", key.c_str(), (options_.explain ? "\n" + r.measured : r.measured).c_str());
        } else if (options_.verbose) {
            std::printf("%s  %-100s %.3f s\n", r.status == Result::passed ? "pass" : "skip", key.c_str(), r.seconds);
        }
        std::fflush(stdout);
        if (json_) {
            write_json(entry, r);
        }
    }

    static std::string quoted(const std::string& text) {
        std::string out = "\"";
        for (char c : text) {
            if (c == '"' || c == '\\') {
                out += '\\';
            }
            out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return out + "\"";
    }

    void write_json(const Entry& entry, const Result& r) {
        static const char* const STATUS[] = {"passed", "failed", "skipped"};
        std::string faults;
        for (const std::string& text : r.faults) {
            faults += (faults.empty() ? "" : ", ") + quoted(text);
        }
        std::fprintf(
            json_,
            "%s\n {\"op\": %s, \"case\": %s, \"kernel\": %s, \"driver\": %s, \"device\": %s, \"schedule\": %s, "
            "\"seed\": %llu, "
            "\"status\": \"%s\", \"exact\": %s, \"hash\": \"%016llx\", \"seconds\": %.6f, "
            "\"warp_instructions\": %llu, \"measured\": %s, "
            "\"faults\": [%s]}",
            first_ ? "" : ",", quoted(entry.op).c_str(), quoted(entry.name).c_str(), quoted(r.kernel).c_str(),
            quoted(driver_).c_str(), quoted(device_).c_str(), quoted(schedule_).c_str(),
            static_cast<unsigned long long>(options_.seed), STATUS[r.status], r.exact ? "true" : "false",
            static_cast<unsigned long long>(r.hash), r.seconds, static_cast<unsigned long long>(Budget::sum(r.spent)),
            quoted(r.measured).c_str(), faults.c_str());
        first_ = false;
    }

    struct Seen {
        int found = 0, unseen = 0;
    };

    const Options& options_;
    Budget budget_;
    std::string driver_, schedule_, device_;
    std::map<std::string, std::vector<uint64_t>> hashes_;
    std::set<std::string> exact_;
    std::map<std::string, Seen> planted_;
    FILE* json_ = nullptr;
    bool first_ = true;
    int same_bits_ = 0, other_bits_ = 0;
};

constexpr int SKIPPED = 77; // CTest's word for: cannot run here

int run(const Options& options) {
    const auto owned = list_entries(options);
    std::vector<const Entry*> entries;
    for (const auto& entry : owned) {
        entries.push_back(entry.get());
        if (options.list) {
            std::printf("%s/%s\n", entry->op.c_str(), entry->name.c_str());
        }
    }
    if (entries.empty()) {
        std::fprintf(stderr, "spark-check: no case matches (--list shows them)\n");
        return 2;
    }
    if (options.list) {
        std::printf("%zu cases\n", entries.size());
        return 0;
    }
    Report report(options);
    const Listener listener{[&](const Entry& entry) { report.begin(entry); },
                            [&](const Entry& entry, const std::vector<Result>& results) { report.end(entry, results); },
                            [&](const std::string& name) { report.device(name); }};
    for (const std::string& driver : options.drivers) {
        const std::vector<std::string> none = {""};
        for (const std::string& schedule : driver == "emu" ? options.schedules : none) {
            report.start(driver, schedule);
            if (std::string error = run_all(entries, options, driver, schedule, listener); !error.empty()) {
                std::fprintf(stderr, "spark-check: --driver %s: %s\n", driver.c_str(), error.c_str());
                return driver == "gpu" && report.failed == 0 ? SKIPPED : 2;
            }
        }
    }
    if (options.drivers.size() > 1) {
        report.compare_drivers();
    }
    return report.finish();
}

} // namespace
} // namespace check

int main(int argc, char** argv) {
    check::Options options;
    std::string error;
    if (!check::parse_options(argc, argv, options, error)) {
        if (!error.empty()) {
            std::fprintf(stderr, "spark-check: %s\n", error.c_str());
        }
        return error.empty() ? 0 : 2;
    }
    return check::run(options);
}

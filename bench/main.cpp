// SPDX-License-Identifier: Apache-2.0
// spark-bench: the card's ceilings and the library's operators, measured in turn in one run. A figure is a median and a
// fraction of the ceiling of the same run. Records are written by `tools/spark bench --record`, never by hand.
#include "ceilings.h"
#include "items.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

namespace {

struct Settings {
    int rounds = 25;
    double sample_ms = 4; // launches are repeated within a sample until it lasts about so long
    bool small = false;
    std::string json, only;
};

const char* const HELP = "spark-bench [--rounds N] [--only TEXT] [--small] [--json FILE]\n"
                         "Measures the card's ceilings and every operator in turn and prints a table.\n"
                         "  --rounds N   samples per row, interleaved; the table shows medians (25)\n"
                         "  --only TEXT  rows whose name or shape contains TEXT, and the ceilings\n"
                         "  --small      tiny shapes, to try the program on the emulator\n"
                         "  --json FILE  write the same figures as JSON\n";

bool parse(int argc, char** argv, Settings& s) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool value = i + 1 < argc;
        if (word == "--rounds" && value) s.rounds = std::max(1, std::atoi(argv[++i]));
        else if (word == "--only" && value) s.only = argv[++i];
        else if (word == "--json" && value) s.json = argv[++i];
        else if (word == "--small") s.small = true, s.rounds = 3, s.sample_ms = 0;
        else return false;
    }
    return true;
}

class Timer {
public:
    explicit Timer(spark_context* ctx) : ctx_(ctx) {
        spark_stream_create(ctx, &stream_, nullptr);
        spark_event_create(ctx, &begin_, nullptr);
        spark_event_create(ctx, &end_, nullptr);
    }
    ~Timer() {
        spark_event_destroy(ctx_, begin_, nullptr);
        spark_event_destroy(ctx_, end_, nullptr);
        spark_stream_destroy(ctx_, stream_, nullptr);
    }
    // Milliseconds of one run, as the mean of `times` runs on end.
    double measure(const bench::Item& item, int times) {
        spark_event_record(ctx_, begin_, stream_, nullptr);
        for (int i = 0; i < times; ++i) item.run(stream_);
        spark_event_record(ctx_, end_, stream_, nullptr);
        spark_error err{};
        err.struct_size = sizeof err;
        float total = 0;
        if (spark_event_synchronize(ctx_, end_, &err) != SPARK_OK ||
            spark_event_elapsed(ctx_, begin_, end_, &total, &err) != SPARK_OK)
            throw std::runtime_error(item.name + ": " + err.message);
        return total / times;
    }

private:
    spark_context* ctx_;
    spark_stream stream_ = 0;
    spark_event begin_ = 0, end_ = 0;
};

void measure_all(Timer& timer, std::vector<bench::Item>& items, const Settings& s) {
    std::vector<int> times;
    for (bench::Item& item : items) {
        timer.measure(item, 2); // warm up: first touch, clocks
        const double once = timer.measure(item, 3);
        times.push_back(std::clamp(static_cast<int>(s.sample_ms / std::max(once, 1e-4)), 1, 400));
    }
    for (int round = 0; round < s.rounds; ++round) {
        for (size_t i = 0; i < items.size(); ++i) items[i].milliseconds.push_back(timer.measure(items[i], times[i]));
        std::fprintf(stderr, "\rround %d of %d", round + 1, s.rounds);
    }
    std::fprintf(stderr, "\n");
    for (bench::Item& item : items) std::sort(item.milliseconds.begin(), item.milliseconds.end());
}

double median(const bench::Item& item) { return item.milliseconds[item.milliseconds.size() / 2]; }
double rate(const bench::Item& item) { return item.work / median(item) * 1e3; }

double fraction(const bench::Item& item, const std::vector<bench::Item>& all) {
    for (const bench::Item& other : all)
        if (other.kernel.empty() && other.name == item.ceiling) return rate(item) / rate(other);
    return 0;
}

void print_table(const std::vector<bench::Item>& items, const spark_device_info& device) {
    std::printf("%s, compute capability %u.%u, %u SMs, driver %u\n\n", device.name, device.cc_major, device.cc_minor,
                device.sm_count, device.driver_version);
    std::printf("%-10s %-44s %-36s %10s %14s %9s\n", "row", "shape", "kernel", "us", "rate", "ceiling");
    for (const bench::Item& item : items) {
        const bool flops = item.unit == bench::Unit::flops;
        std::printf("%-10s %-44s %-36s %10.2f %8.2f %s", item.name.c_str(), item.shape.c_str(), item.kernel.c_str(),
                    median(item) * 1e3, rate(item) / 1e12, flops ? "TFLOPS" : "TB/s  ");
        if (item.ceiling.empty()) std::printf("\n");
        else std::printf(" %5.1f %% of %s\n", 100 * fraction(item, items), item.ceiling.c_str());
    }
}

bool write_json(const std::string& path, const std::vector<bench::Item>& items, const spark_device_info& device,
                int rounds) {
    FILE* file = std::fopen(path.c_str(), "w");
    if (!file) return false;
    std::fprintf(
        file,
        "{\"device\": \"%s\", \"cc\": \"%u.%u\", \"sm_count\": %u, \"driver\": %u, \"emulated\": %s, \"rounds\": %d,\n",
        device.name, device.cc_major, device.cc_minor, device.sm_count, device.driver_version,
        device.emulated ? "true" : "false", rounds);
    std::fprintf(file, " \"library\": %s,\n \"rows\": [\n", spark_build_info());
    for (size_t i = 0; i < items.size(); ++i) {
        const bench::Item& item = items[i];
        std::fprintf(
            file,
            "  {\"name\": \"%s\", \"shape\": \"%s\", \"kernel\": \"%s\", \"unit\": \"%s\", \"median_us\": %.4f, "
            "\"least_us\": %.4f, \"most_us\": %.4f, \"rate\": %.6g, \"ceiling\": \"%s\", \"fraction\": %.4f}%s\n",
            item.name.c_str(), item.shape.c_str(), item.kernel.c_str(),
            item.unit == bench::Unit::flops ? "FLOP/s" : "byte/s", median(item) * 1e3, item.milliseconds.front() * 1e3,
            item.milliseconds.back() * 1e3, rate(item), item.ceiling.c_str(), fraction(item, items),
            i + 1 < items.size() ? "," : "");
    }
    std::fprintf(file, " ]}\n");
    return std::fclose(file) == 0;
}

int run(const Settings& settings) {
    spark_error err{};
    err.struct_size = sizeof err;
    spark_context_desc desc{};
    desc.struct_size = sizeof desc;
    spark_context* ctx = nullptr;
    spark_device_info device{};
    device.struct_size = sizeof device;
    if (spark_context_create(&desc, &ctx, &err) != SPARK_OK || spark_context_device(ctx, &device, &err) != SPARK_OK) {
        std::fprintf(stderr, "spark-bench: %s\n", err.message);
        return 2;
    }
    std::string why;
    {
        const bench::Ceilings ceilings(0, settings.small, why);
        if (!ceilings.ready()) {
            std::fprintf(stderr, "spark-bench: %s\n", why.c_str());
            return 2;
        }
        bench::Buffers buffers(ctx);
        std::vector<bench::Item> items = bench::ceiling_items(ceilings, buffers, settings.small);
        for (bench::Item& item : bench::operator_items(buffers, settings.small, settings.only))
            items.push_back(std::move(item));
        Timer timer(ctx);
        measure_all(timer, items, settings);
        print_table(items, device);
        if (!settings.json.empty() && !write_json(settings.json, items, device, settings.rounds)) {
            std::fprintf(stderr, "spark-bench: %s cannot be written\n", settings.json.c_str());
            return 2;
        }
    }
    spark_context_destroy(ctx);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    Settings settings;
    if (!parse(argc, argv, settings)) {
        const bool help = argc == 2 && !std::strcmp(argv[1], "--help");
        std::fputs(HELP, help ? stdout : stderr);
        return help ? 0 : 2;
    }
    try {
        return run(settings);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "spark-bench: %s\n", failure.what());
        return 1;
    }
}

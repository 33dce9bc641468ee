// SPDX-License-Identifier: Apache-2.0
// Medians, rates and fractions of the ceilings of the same run; where rivals ran, the best of them.
#include "report.h"

#include <cstdio>

namespace bench {
namespace {

double rate(const Item& item) { return item.work / item.ways[0].median() * 1e3; }

double fraction(const Item& item, const std::vector<Item>& all) {
    for (const Item& other : all)
        if (other.ceiling.empty() && other.name == item.ceiling) return rate(item) / rate(other);
    return 0;
}

bool has_rivals(const std::vector<Item>& items) {
    for (const Item& item : items)
        if (item.ways.size() > 1) return true;
    return false;
}

template <class... Values> std::string format(const char* pattern, Values... values) {
    char text[640];
    std::snprintf(text, sizeof text, pattern, values...);
    return text;
}

// The part of a row's object that tells of rivals; nothing where none ran.
std::string rivals_json(const Item& item) {
    if (item.ways.size() < 2) return "";
    const Way& least = best(item);
    return format(", \"legal\": %zu, \"best\": \"%s\", \"best_us\": %.4f, \"beaten\": %s", item.ways.size(),
                  least.kernel.c_str(), least.median() * 1e3, beaten(item) ? "true" : "false");
}

} // namespace

void print_table(const std::vector<Item>& items, const spark_device_info& device) {
    std::printf("%s, compute capability %u.%u, %u SMs, driver %u\n\n", device.name, device.cc_major, device.cc_minor,
                device.sm_count, device.driver_version);
    const bool rivals = has_rivals(items);
    std::printf("%-10s %-44s %-36s %10s %8s %14s %19s%s\n", "row", "shape", "kernel", "us", "host ns", "rate",
                "ceiling", rivals ? "  best legal kernel" : "");
    for (const Item& item : items) {
        const Way& way = item.ways[0];
        const bool flops = item.unit == Unit::flops;
        std::printf("%-10s %-44s %-36s %10.2f %8.0f %8.2f %s", item.name.c_str(), item.shape.c_str(),
                    way.kernel.c_str(), way.median() * 1e3, item.host_ns, rate(item) / 1e12,
                    flops ? "TFLOPS" : "TB/s  ");
        if (!item.ceiling.empty()) std::printf(" %5.1f %% of %-8s", 100 * fraction(item, items), item.ceiling.c_str());
        if (item.ways.size() > 1) {
            const Way& least = best(item);
            std::printf("  %s %.2f us, %.2f of the choice%s", least.kernel.c_str(), least.median() * 1e3,
                        least.median() / way.median(), beaten(item) ? "  BEATEN" : "");
        }
        std::printf("\n");
    }
}

size_t tell_beaten(const std::vector<Item>& items) {
    size_t count = 0;
    for (const Item& item : items) {
        if (!beaten(item)) continue;
        ++count;
        const Way &chosen = item.ways[0], &least = best(item);
        std::fprintf(stderr, "spark-bench: %s %s: the library chooses %s, %.2f us; %s takes %.2f\n", item.name.c_str(),
                     item.shape.c_str(), chosen.kernel.c_str(), chosen.median() * 1e3, least.kernel.c_str(),
                     least.median() * 1e3);
    }
    return count;
}

std::string identity(const spark_device_info& device) {
    return format("\"device\": \"%s\", \"cc\": \"%u.%u\", \"sm_count\": %u, \"driver\": %u, \"emulated\": %s",
                  device.name, device.cc_major, device.cc_minor, device.sm_count, device.driver_version,
                  device.emulated ? "true" : "false");
}

bool write_json(const std::string& path, const std::vector<Item>& items, const spark_device_info& device, int rounds) {
    FILE* file = std::fopen(path.c_str(), "w");
    if (!file) return false;
    std::fprintf(file, "{%s, \"rounds\": %d,\n", identity(device).c_str(), rounds);
    std::fprintf(file, " \"library\": %s,\n \"rows\": [\n", spark_build_info());
    for (size_t i = 0; i < items.size(); ++i) {
        const Item& item = items[i];
        const Way& way = item.ways[0];
        std::fprintf(
            file,
            "  {\"name\": \"%s\", \"shape\": \"%s\", \"kernel\": \"%s\", \"unit\": \"%s\", \"median_us\": %.4f, "
            "\"least_us\": %.4f, \"most_us\": %.4f, \"host_ns\": %.0f, \"rate\": %.6g, \"ceiling\": \"%s\", "
            "\"fraction\": %.4f%s}%s\n",
            item.name.c_str(), item.shape.c_str(), way.kernel.c_str(), item.unit == Unit::flops ? "FLOP/s" : "byte/s",
            way.median() * 1e3, way.milliseconds.front() * 1e3, way.milliseconds.back() * 1e3, item.host_ns, rate(item),
            item.ceiling.c_str(), fraction(item, items), rivals_json(item).c_str(), i + 1 < items.size() ? "," : "");
    }
    std::fprintf(file, " ]}\n");
    return std::fclose(file) == 0;
}

} // namespace bench

// SPDX-License-Identifier: Apache-2.0
// Medians, rates and fractions of the ceilings of the same run; where rivals ran, the best of them.
#include "report.h"

#include <cstdio>

namespace bench {
namespace {

double rate(const Item& item, const Work& work) { return work.amount / item.ways[0].median() * 1e3; }

double ceiling_rate(const Work& work, const std::vector<Item>& all) {
    for (const Item& other : all)
        if (other.name == work.ceiling && other.works[0].ceiling.empty()) return rate(other, other.works[0]);
    return 0;
}

// The work of an item that takes longest at the rates of the ceilings, and what part of the item's time that is.
struct Bound {
    Work work;
    double fraction = 0;
};
Bound bound_of(const Item& item, const std::vector<Item>& all) {
    Bound bound = {item.works[0]};
    for (const Work& work : item.works) {
        const double most = ceiling_rate(work, all), fraction = most > 0 ? rate(item, work) / most : 0;
        if (fraction > bound.fraction) bound = {work, fraction};
    }
    return bound;
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

std::string ceilings_of(const Item& item) {
    std::string names;
    for (const Work& work : item.works) names += (names.empty() ? "" : " ") + work.ceiling;
    return names;
}

void print_table(const std::vector<Item>& items, const spark_device_info& device) {
    std::printf("%s, compute capability %u.%u, %u SMs, driver %u\n\n", device.name, device.cc_major, device.cc_minor,
                device.sm_count, device.driver_version);
    const bool rivals = has_rivals(items);
    std::printf("%-10s %-44s %-36s %10s %8s %14s %19s%s\n", "row", "shape", "kernel", "us", "host ns", "rate",
                "ceiling", rivals ? "  best legal kernel" : "");
    for (const Item& item : items) {
        const Way& way = item.ways[0];
        const auto [work, fraction] = bound_of(item, items);
        std::printf("%-10s %-44s %-36s %10.2f %8.0f %8.2f %s", item.name.c_str(), item.shape.c_str(),
                    way.kernel.c_str(), way.median() * 1e3, item.host_ns, rate(item, work) / 1e12,
                    work.unit == Unit::flops ? "TFLOPS" : "TB/s  ");
        if (!work.ceiling.empty()) std::printf(" %5.1f %% of %-8s", 100 * fraction, work.ceiling.c_str());
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
        const auto [work, fraction] = bound_of(item, items);
        std::fprintf(
            file,
            "  {\"name\": \"%s\", \"shape\": \"%s\", \"kernel\": \"%s\", \"unit\": \"%s\", \"median_us\": %.4f, "
            "\"least_us\": %.4f, \"most_us\": %.4f, \"host_ns\": %.0f, \"rate\": %.6g, \"ceiling\": \"%s\", "
            "\"fraction\": %.4f%s}%s\n",
            item.name.c_str(), item.shape.c_str(), way.kernel.c_str(), work.unit == Unit::flops ? "FLOP/s" : "byte/s",
            way.median() * 1e3, way.milliseconds.front() * 1e3, way.milliseconds.back() * 1e3, item.host_ns,
            rate(item, work), work.ceiling.c_str(), fraction, rivals_json(item).c_str(),
            i + 1 < items.size() ? "," : "");
    }
    std::fprintf(file, " ]}\n");
    return std::fclose(file) == 0;
}

} // namespace bench

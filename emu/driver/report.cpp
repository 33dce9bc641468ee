// SPDX-License-Identifier: Apache-2.0
// The report channel and the tallies: see report.h; and the spark_emu_* functions that read them.
#include "emu/driver/report.h"

#include "emu/driver/cuda_api.h"
#include "emu/include/spark_emu.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

namespace emu::driver {
namespace {

struct Tally {
    uint64_t launches = 0;
    Counters counters;
};
struct Log {
    std::mutex mutex;
    std::vector<std::string> reports;
    std::string target;
    std::map<std::string, Tally> kernels;
};
Log& log() {
    static Log* instance = new Log; // host threads may still report at exit
    return *instance;
}

thread_local std::string said; // of the thread's newest call

constexpr const char* SYMBOLS[] = {
#define FUNCTION(base, symbol, version, per_thread, per_thread_version) #symbol,
#include "emu/driver/functions.inc"
#undef FUNCTION
};
std::atomic<uint64_t> calls[static_cast<size_t>(Fn::count_)];

std::atomic<uint64_t>* unimplemented_calls() {
    static auto* counts = new std::atomic<uint64_t>[unimplemented().size()]();
    return counts;
}

void write_out(const std::string& target, const std::string& text) {
    if (target.empty()) return;
    if (target == "stderr") {
        fprintf(stderr, "%s\n", text.c_str());
        return;
    }
    if (FILE* file = fopen(target.c_str(), "a")) {
        fprintf(file, "%s\n", text.c_str());
        fclose(file);
    }
}

void add_text(std::string text) {
    Log& l = log();
    std::lock_guard guard(l.mutex);
    write_out(l.target, text);
    l.reports.push_back(std::move(text));
}

void add_remark() { add_text("spark-emu: driver: " + said); }

std::string json_string(const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

std::string json_of(const Tally& t) {
    const Counters& c = t.counters;
    std::string out = "{\"launches\":" + std::to_string(t.launches);
    const auto field = [&](const char* name, uint64_t value) {
        out += std::string(",\"") + name + "\":" + std::to_string(value);
    };
    field("warp_instructions", c.warp_instructions);
    field("lane_instructions", c.lane_instructions);
    field("divergent_branches", c.divergent_branches);
    field("mma", c.mma);
    field("barrier_waits", c.barrier_waits);
    field("global_requests", c.global_requests);
    field("global_sectors", c.global_sectors);
    field("global_read_bytes", c.global_read_bytes);
    field("global_write_bytes", c.global_write_bytes);
    field("shared_requests", c.shared_requests);
    field("shared_wavefronts", c.shared_wavefronts);
    field("shared_conflicts", c.shared_conflicts);
    field("async_bytes", c.async_bytes);
    field("atomics", c.atomics);
    out += ",\"by_opcode\":{";
    const char* separator = "";
    for (const auto& [name, count] : c.by_opcode) {
        out.append(separator).append(json_string(name)).append(":").append(std::to_string(count));
        separator = ",";
    }
    return out + "}}";
}

size_t copy_out(const std::string& text, char* buffer, size_t bytes) {
    if (buffer && bytes) {
        const size_t n = std::min(text.size(), bytes - 1);
        memcpy(buffer, text.data(), n);
        buffer[n] = 0;
    }
    return text.size();
}

} // namespace

void count_call(Fn function) { calls[static_cast<size_t>(function)].fetch_add(1, std::memory_order_relaxed); }

void count_unimplemented(size_t index) {
    explain(std::string(unimplemented()[index].symbol) + " is not implemented: CUDA_ERROR_NOT_SUPPORTED");
    if (unimplemented_calls()[index].fetch_add(1, std::memory_order_relaxed) == 0) add_remark();
}

void add_reports(const std::vector<Report>& reports) {
    for (const Report& report : reports) add_text(report.text);
}

void begin_call() { said.clear(); }
void explain(std::string text) { said = std::move(text); }
const std::string& explained() { return said; }

void remark(std::string text) {
    explain(std::move(text));
    add_remark();
}

void add_counters(const std::string& kernel, const Counters& counters) {
    std::lock_guard guard(log().mutex);
    Tally& tally = log().kernels[kernel];
    tally.launches++;
    tally.counters.add(counters);
}

void set_report_target(std::string target) {
    std::lock_guard guard(log().mutex);
    log().target = std::move(target);
}

} // namespace emu::driver

using namespace emu::driver;

extern "C" size_t spark_emu_report_count(void) {
    std::lock_guard guard(log().mutex);
    return log().reports.size();
}

extern "C" size_t spark_emu_report(size_t index, char* buffer, size_t bytes) {
    std::lock_guard guard(log().mutex);
    return copy_out(index < log().reports.size() ? log().reports[index] : std::string(), buffer, bytes);
}

extern "C" void spark_emu_clear_reports(void) {
    std::lock_guard guard(log().mutex);
    log().reports.clear();
}

extern "C" const char* spark_emu_last_report(void) {
    thread_local std::string text;
    std::lock_guard guard(log().mutex);
    text = log().reports.empty() ? std::string() : log().reports.back();
    return text.c_str();
}

extern "C" size_t spark_emu_counters(char* buffer, size_t bytes) {
    std::lock_guard guard(log().mutex);
    uint64_t launches = 0;
    std::string kernels;
    for (const auto& [name, tally] : log().kernels) {
        launches += tally.launches;
        kernels.append(kernels.empty() ? "" : ",").append(json_string(name)).append(":").append(json_of(tally));
    }
    return copy_out("{\"launches\":" + std::to_string(launches) + ",\"kernels\":{" + kernels + "}}", buffer, bytes);
}

extern "C" uint64_t spark_emu_call_count(const char* symbol) {
    if (!symbol) return 0;
    for (size_t i = 0; i < std::size(SYMBOLS); i++)
        if (!strcmp(SYMBOLS[i], symbol)) return calls[i].load();
    for (size_t i = 0; i < unimplemented().size(); i++)
        if (!strcmp(unimplemented()[i].symbol, symbol)) return unimplemented_calls()[i].load();
    return 0;
}

extern "C" void spark_emu_reset_counts(void) {
    for (auto& count : calls) count.store(0);
    for (size_t i = 0; i < unimplemented().size(); i++) unimplemented_calls()[i].store(0);
    std::lock_guard guard(log().mutex);
    log().kernels.clear();
}

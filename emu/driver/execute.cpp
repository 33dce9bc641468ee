// SPDX-License-Identifier: Apache-2.0
// Carries out one piece of work: see execute.h. The only caller of the engine's run().
#include "emu/driver/execute.h"

#include "emu/driver/report.h"

#include <algorithm>
#include <functional>

namespace emu::driver {
namespace {

CUresult code_of(const Report& report) {
    if (report.kind == "bounds") return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (report.kind == "misaligned") return CUDA_ERROR_MISALIGNED_ADDRESS;
    return CUDA_ERROR_LAUNCH_FAILED;
}

Outcome run_kernel(const KernelWork& work, const ExecuteSetting& setting, std::function<void()> before = {}) {
    LaunchRequest request;
    request.before = std::move(before);
    request.kernel = work.function->kernel;
    request.grid = work.grid;
    request.block = work.block;
    request.cluster = work.cluster;
    request.explicit_cluster = work.explicit_cluster;
    request.cooperative = work.cooperative;
    request.dynamic_smem = work.dynamic_smem;
    request.params = work.params.data();
    request.param_bytes = work.params.size();
    LaunchResult result = run(setting.memory.memory(), request, setting.profile, setting.options);
    add_counters(work.function->info->name, result.counters);
    const uint64_t instructions = result.counters.warp_instructions;
    if (result.reports.empty())
        return {result.completed ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED, "", instructions,
                std::move(result.footprint)};
    if (work.names)
        for (Report& report : result.reports) report.text = with_names(std::move(report.text), *work.names);
    add_reports(result.reports);
    return {code_of(result.reports.front()), result.reports.front().text, instructions, {}};
}

// A range was valid when the call was made and is not now: it was freed under the work.
Outcome freed_under(const char* what, uint64_t address) {
    Report report;
    report.kind = "bounds";
    char text[160];
    snprintf(text, sizeof text, "spark-emu: bounds: a %s reached 0x%llx after that memory was freed", what,
             static_cast<unsigned long long>(address));
    report.text = text;
    add_reports({report});
    return {CUDA_ERROR_ILLEGAL_ADDRESS, text, 0, {}};
}

// The rows of a copy or fill that lie in memory that kernels can reach.
void touch(std::vector<Touch>& list, const ExecuteSetting& setting, uint64_t address, uint64_t bytes) {
    if (!setting.options.global_races || !bytes || !setting.memory.owns(address)) return;
    if (!list.empty() && list.back().end == address) list.back().end += bytes;
    else list.push_back({address, address + bytes});
}
Outcome touched(Footprint footprint) {
    for (std::vector<Touch>* list : {&footprint.writes, &footprint.reads[0]})
        std::sort(list->begin(), list->end(), [](const Touch& a, const Touch& b) { return a.from < b.from; });
    return {CUDA_SUCCESS, "", 0, std::move(footprint)};
}

Outcome run_copy(const CopyWork& work, const ExecuteSetting& setting) {
    const uint64_t from = work.staged ? reinterpret_cast<uint64_t>(work.staged->data()) : work.from.address;
    Footprint footprint;
    for (size_t z = 0; z < work.depth; z++)
        for (size_t y = 0; y < work.height; y++) {
            const uint64_t to = work.to.address + z * work.to.slice + y * work.to.pitch;
            const uint64_t source = from + z * work.from.slice + y * work.from.pitch;
            if (!setting.memory.copy(to, source, work.width)) return freed_under("copy", to);
            touch(footprint.writes, setting, to, work.width);
            touch(footprint.reads[0], setting, source, work.width);
        }
    return touched(std::move(footprint));
}

Outcome run_fill(const FillWork& work, const ExecuteSetting& setting) {
    Footprint footprint;
    for (size_t y = 0; y < work.height; y++) {
        const uint64_t to = work.address + y * work.pitch;
        if (!setting.memory.fill(to, work.value, work.element, work.width)) return freed_under("memset", to);
        touch(footprint.writes, setting, to, uint64_t{work.width} * work.element);
    }
    return touched(std::move(footprint));
}

void run_host(const HostWork& work, CUresult status) {
    ThreadState& thread = this_thread();
    thread.in_callback = true;
    if (work.callback) work.callback(work.stream, status, work.user_data);
    else if (status == CUDA_SUCCESS) work.function(work.user_data); // not called behind an error
    thread.in_callback = false;
}

} // namespace

bool touches_memory(const Work& work) {
    return std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
           std::holds_alternative<FillWork>(work) || std::holds_alternative<FreeWork>(work);
}

Outcome execute(const Work& work, const ExecuteSetting& setting) {
    if (const auto* host = std::get_if<HostWork>(&work)) {
        run_host(*host, setting.sticky);
        return {};
    }
    if (setting.sticky != CUDA_SUCCESS) return {};
    if (const auto* kernel = std::get_if<KernelWork>(&work)) return run_kernel(*kernel, setting);
    if (const auto* copy = std::get_if<CopyWork>(&work)) return run_copy(*copy, setting);
    if (const auto* fill = std::get_if<FillWork>(&work)) return run_fill(*fill, setting);
    if (const auto* release = std::get_if<FreeWork>(&work)) setting.memory.release(release->address);
    return {};
}

Outcome execute_overlapped(const Work& work, const Work& before, const ExecuteSetting& setting, Outcome& of_before) {
    if (setting.sticky != CUDA_SUCCESS) return {};
    bool done = false;
    const auto run_before = [&] {
        of_before = execute(before, setting);
        done = true;
    };
    Outcome outcome = run_kernel(std::get<KernelWork>(work), setting, run_before);
    if (!done) run_before();
    return outcome;
}

void forget_block(uint64_t address) {
    State& s = state();
    auto it = s.blocks.find(address);
    if (it == s.blocks.end()) return;
    if (it->second.pool) it->second.pool->used -= it->second.bytes;
    s.blocks.erase(it);
}

} // namespace emu::driver

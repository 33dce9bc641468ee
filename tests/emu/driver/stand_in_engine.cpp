// SPDX-License-Identifier: Apache-2.0
// A stand-in for the engine, for tests of the façade alone: it knows the kernels of kernels.h by name and runs them in
// C++ over the real emu/mem. Never part of the product; the same tests also run over the real engine.
#include "emu/engine.h"
#include "emu/mem/memory.h"

#include <cstring>

namespace emu {

struct Kernel {
    KernelInfo info;
};
class Module {
public:
    std::vector<std::unique_ptr<Kernel>> kernels;
};

std::string parse_options(std::string_view text, Options& out) {
    Options o = out;
    for (size_t at = 0; at < text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string word(text.substr(at, comma - at));
        at = comma + 1;
        if (word.starts_with("seed=")) o.seed = std::stoull(word.substr(5));
        else if (word == "sched=round_robin") o.schedule = Schedule::round_robin;
        else if (word == "sched=random") o.schedule = Schedule::random;
        else if (word == "sched=starve_low") o.schedule = Schedule::starve_low;
        else if (word == "sched=starve_high") o.schedule = Schedule::starve_high;
        else return "unknown word '" + word + "'";
    }
    out = o;
    return "";
}

void Counters::add(const Counters& other) { warp_instructions += other.warp_instructions; }

LoadResult load_module(std::string_view ptx, const DeviceProfile&, Memory*) {
    if (ptx.find("bogus.u32") != std::string_view::npos) return {nullptr, "line 4: unknown instruction bogus.u32"};
    auto module = std::make_shared<Module>();
    const auto add = [&](const char* name, std::vector<ParamInfo> params, uint32_t max_threads) {
        if (ptx.find(std::string(".entry ") + name + "(") == std::string_view::npos) return;
        auto kernel = std::make_unique<Kernel>();
        kernel->info = {name, params,      params.empty() ? 0 : params.back().offset + params.back().size,
                        0,    max_threads, 12};
        module->kernels.push_back(std::move(kernel));
    };
    add("set", {{"out", 0, 8, 8}, {"value", 8, 4, 4}, {"count", 12, 4, 4}}, 1024);
    add("add", {{"out", 0, 8, 8}, {"value", 8, 4, 4}, {"count", 12, 4, 4}}, 1024);
    add("twice", {{"out", 0, 8, 8}, {"count", 8, 4, 4}}, 1024);
    add("beyond", {{"out", 0, 8, 8}, {"far", 8, 8, 8}}, 1024);
    add("odd", {{"out", 0, 8, 8}}, 1024);
    add("nothing", {}, 1024);
    for (const char* name : {"any", "pairs", "some", "few"}) {
        add(name, {{"out", 0, 8, 8}}, 1024);
        if (module->kernels.empty()) continue;
        KernelInfo& info = module->kernels.back()->info;
        if (info.name == "pairs") info.required_cluster = {2, 1, 1};
        info.explicit_cluster = info.name == "some";
        info.max_cluster = info.name == "few" ? 4 : 0;
    }
    for (const char* name : {"waits", "hasty", "never", "late"})
        add(name, {{"out", 0, 8, 8}, {"value", 8, 4, 4}, {"count", 12, 4, 4}}, 1024);
    return {module, ""};
}

std::vector<const Kernel*> kernels_of(const Module& module) {
    std::vector<const Kernel*> all;
    for (const auto& kernel : module.kernels) all.push_back(kernel.get());
    return all;
}
const KernelInfo& info_of(const Kernel& kernel) { return kernel.info; }
bool global_of(const Module&, std::string_view, uint64_t&, uint64_t&) { return false; }

LaunchResult run(Memory& memory, const LaunchRequest& request, const DeviceProfile&, const Options&) {
    struct {
        uint64_t out;
        uint32_t first, second;
    } p{};
    if (request.param_bytes) memcpy(&p, request.params, std::min(request.param_bytes, sizeof p)); // else it may be null
    const std::string& name = request.kernel->info.name;
    LaunchResult result;
    result.counters.warp_instructions = 1;
    const auto fail = [&](const char* kind, uint64_t address) {
        result.reports.push_back(
            {kind, name, "", 0, std::string(kind) + " in " + name + ": " + memory.describe(address), true});
        result.completed = false;
        return result;
    };
    if (name == "nothing") return result;
    if (name == "any" || name == "pairs" || name == "some" || name == "few") {
        const uint32_t width = request.cluster.x, said = request.explicit_cluster ? 1000 : 0;
        for (uint32_t block = 0; block < request.grid.x; block++) {
            const uint32_t value = said + 10 * width + block % width;
            memory.write(p.out + 4 * block, &value, 4);
        }
        return result;
    }
    if (name == "odd") return fail("misaligned", p.out + 2);
    uint64_t far;
    memcpy(&far, &p.first, 8);
    if (name == "beyond") return fail("bounds", p.out + far);
    if (name == "waits" && request.before) request.before();
    const uint32_t n = name == "twice" ? p.first : p.second;
    for (uint64_t address = p.out; address < p.out + 4ull * n; address += 4) {
        if (!memory.contains(address, 4)) return fail("bounds", address);
        uint32_t value = 0;
        memory.read(&value, address, 4);
        value = name == "set" ? p.first : name == "add" ? value + p.first : value * 2;
        if (name != "set" && name != "add" && name != "twice") value += p.first;
        memory.write(address, &value, 4);
    }
    return result;
}

} // namespace emu

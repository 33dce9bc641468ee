// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: a PTX text for the emulator's engine, alone in memory, so that a read past its end is a report.
// What loads is launched: two blocks of each of the first kernels, parameters of eight bytes being buffers, few
// instructions. Holds for every text: no crash, and a refusal or a fault has a sentence.
#include "engine.h"
#include "mem/memory.h"

#include <cstdlib>
#include <cstring>
#include <memory>

namespace {

constexpr size_t MOST_KERNELS = 4, BUFFERS = 8;
constexpr uint64_t BUFFER_BYTES = 4096;

struct Device {
    emu::DeviceProfile profile = *emu::find_profile("gb10");
    emu::Memory memory{64u << 20};
    uint64_t buffers[BUFFERS];
    Device() {
        for (uint64_t& buffer : buffers) buffer = memory.alloc(BUFFER_BYTES);
    }
};

// Each way to run is taken by some texts: the size of a text is as good as a random number.
emu::Options options_for(size_t size) {
    emu::Options options;
    options.seed = size;
    options.threads = 1;
    options.limit = 4000;
    options.schedule = static_cast<emu::Schedule>(size % 4);
    options.merge = static_cast<emu::Merge>(size % 3);
    options.async = static_cast<emu::AsyncTiming>(size / 3 % 3);
    options.late_reads = size & 1;
    return options;
}

void launch(Device& device, const emu::Kernel& kernel, uint32_t threads, size_t size) {
    const emu::KernelInfo& info = emu::info_of(kernel);
    std::unique_ptr<char[]> params(new char[info.param_bytes]());
    for (size_t i = 0; i < info.params.size(); ++i) {
        const emu::ParamInfo& param = info.params[i];
        const uint64_t value = param.size == 8 ? device.buffers[i % BUFFERS] : 33;
        std::memcpy(params.get() + param.offset, &value, std::min<size_t>(param.size, 8));
    }
    emu::LaunchRequest request;
    request.kernel = &kernel;
    request.grid = {2, 1, 1};
    request.block = {threads, 1, 1};
    request.dynamic_smem = 4096;
    request.params = params.get();
    request.param_bytes = info.param_bytes;
    const emu::LaunchResult result = emu::run(device.memory, request, device.profile, options_for(size));
    for (const emu::Report& report : result.reports)
        if (report.kind.empty() || report.text.empty()) std::abort();
    if (!result.completed && result.reports.empty()) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Device& device = *new Device;
    const std::unique_ptr<char[]> exact(new char[size ? size : 1]);
    if (size) std::memcpy(exact.get(), data, size);
    const emu::LoadResult loaded = emu::load_module({exact.get(), size}, device.profile, &device.memory);
    if (!loaded.module) {
        if (loaded.log.empty()) std::abort();
        return 0;
    }
    const std::vector<const emu::Kernel*> kernels = emu::kernels_of(*loaded.module);
    for (size_t i = 0; i < kernels.size() && i < MOST_KERNELS; ++i) {
        const uint32_t most = emu::info_of(*kernels[i]).max_threads;
        launch(device, *kernels[i], std::min(most, 33u), size);
        if (most < 256 && most != 33) launch(device, *kernels[i], most, size); // .reqntid
    }
    return 0;
}

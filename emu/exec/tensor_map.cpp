// SPDX-License-Identifier: Apache-2.0
// Where a tensor map may lie, and what must be said of it before a copy believes it.
#include "tensor_map.h"

#include "../report/report.h"

namespace emu {
namespace {

const void* in_parameters(Warp& w, int lane, uint64_t offset) {
    if (offset + TensorMap::BYTES <= w.kernel->info.param_bytes) return w.launch->params + offset;
    report_access(w, "bounds", lane, Space::param, offset, TensorMap::BYTES, false,
                  "a tensor map here is not all inside the kernel's parameters");
    return nullptr;
}

} // namespace

const void* tensor_map_in_memory(Warp& w, int lane, uint64_t address) {
    const Memory& memory = *w.launch->memory;
    const auto refuse = [&](const char* kind, const std::string& what) {
        report_access(w, kind, lane, Space::global, address, TensorMap::BYTES, false, what);
        return nullptr;
    };
    if (address >= SHARED_WINDOW)
        return refuse("space", "a tensor map lies in global or constant memory, or is a parameter of the kernel");
    const Allocation* a = memory.lookup(address);
    if (!a || address < a->start || address > a->end() || a->end() - address < TensorMap::BYTES)
        return refuse("bounds", memory.describe(address));
    if (w.launch->options.check_undefined && !memory.is_defined(address, TensorMap::BYTES))
        return refuse("undefined", "nobody wrote all bytes of this tensor map");
    return reinterpret_cast<const void*>(address);
}
bool read_tensor_map(Warp& w, int lane, uint64_t address, TensorMap& map) {
    const bool parameter = address - PARAM_WINDOW < WINDOW_BYTES;
    if (address % TensorMap::ALIGN) {
        report_access(w, "misaligned", lane, parameter ? Space::param : Space::global, address % PARAM_WINDOW,
                      TensorMap::BYTES, false, "a tensor map is aligned to 64 bytes");
        return false;
    }
    const void* bytes =
        parameter ? in_parameters(w, lane, address - PARAM_WINDOW) : tensor_map_in_memory(w, lane, address);
    if (!bytes) return false;
    std::string problem;
    if (!decode(bytes, map)) problem = "these 128 bytes are no tensor map that this driver made";
    if (problem.empty()) problem = broken_rule(map);
    if (problem.empty()) problem = not_emulated(map);
    if (!problem.empty()) report(w, "tensormap", lane, "tensor map at 0x" + hex(address) + ": " + problem);
    return problem.empty();
}

} // namespace emu

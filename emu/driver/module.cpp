// SPDX-License-Identifier: Apache-2.0
// Modules: images that belong to one context, and their function handles.
#include "emu/driver/call.h"
#include "emu/driver/image.h"
#include "emu/engine_limits.h"

#include <fstream>

using namespace emu::driver;

namespace {

CUresult load(Lock& lock, State& s, CUmodule* out, const void* bytes, const JitOptions& jit) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    auto module = std::make_shared<LoadedModule>();
    if (CUresult refused = load_image(lock, bytes, jit, module->image)) return refused;
    module->context = current_context();
    *out = s.modules.add(module);
    return CUDA_SUCCESS;
}

CUfunction handle_of(State& s, CUmodule module_handle, LoadedModule& module, const Function& function) {
    CUfunction& handle = module.handles[function.info->name];
    if (!handle) {
        auto own = std::make_shared<Function>(function);
        own->context = module.context;
        own->module_handle = module_handle;
        handle = s.functions.add(own);
    }
    return handle;
}

} // namespace

CUresult cuModuleLoad(CUmodule* module, const char* path) {
    ENTER(cuModuleLoad, NEED_CONTEXT);
    if (!path) return CUDA_ERROR_INVALID_VALUE;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string text(emu::limits::TEXT_BYTES + 1, '\0'); // a file may be a device that never ends
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
    return load(lock, s, module, text.c_str(), {});
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    ENTER(cuModuleLoadData, NEED_CONTEXT);
    return load(lock, s, module, image, {});
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    ENTER(cuModuleLoadDataEx, NEED_CONTEXT);
    return load(lock, s, module, image, {count, options, values});
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    ENTER(cuModuleLoadFatBinary, NEED_CONTEXT);
    return load(lock, s, module, image, {});
}

CUresult cuModuleUnload(CUmodule handle) {
    ENTER(cuModuleUnload, NEED_CONTEXT | UNSAFE);
    const std::shared_ptr<LoadedModule> module = s.modules.find(handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_memory(lock);
    for (const auto& [name, function] : module->handles) s.functions.remove(function);
    s.modules.remove(handle);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    ENTER(cuModuleGetFunction, NEED_CONTEXT);
    if (!out || !name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<LoadedModule> module = s.modules.find(handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Function> function = find_function(*module->image, name);
    if (!function) return CUDA_ERROR_NOT_FOUND;
    *out = handle_of(s, handle, *module, *function);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
    ENTER(cuModuleGetFunctionCount, NEED_CONTEXT);
    const std::shared_ptr<LoadedModule> module = s.modules.find(handle);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    *count = static_cast<unsigned>(module->image->functions.size());
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
    ENTER(cuModuleEnumerateFunctions, NEED_CONTEXT);
    const std::shared_ptr<LoadedModule> module = s.modules.find(handle);
    if (!functions) return CUDA_ERROR_INVALID_VALUE;
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < count && i < module->image->functions.size(); i++)
        functions[i] = handle_of(s, handle, *module, *module->image->functions[i]);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
    ENTER(cuModuleGetGlobal_v2, NEED_CONTEXT);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<LoadedModule> module = s.modules.find(handle);
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t start = 0, size = 0;
    if (!emu::global_of(*module->image->module, name, start, size)) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = start;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
}

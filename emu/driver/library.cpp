// SPDX-License-Identifier: Apache-2.0
// Libraries and kernels: images that belong to no context. Needs cuInit only.
#include "emu/driver/call.h"
#include "emu/driver/function.h"
#include "emu/driver/image.h"

using namespace emu::driver;

namespace {

std::shared_ptr<Function> kernel_of(CUkernel handle) {
    std::shared_ptr<Function> function = state().functions.find(reinterpret_cast<CUfunction>(handle));
    return function && function->is_kernel ? function : nullptr;
}

CUkernel add_kernel(State& s, CUlibrary library, const Function& listed) {
    auto kernel = std::make_shared<Function>(listed);
    kernel->is_kernel = true;
    kernel->library_handle = library;
    return reinterpret_cast<CUkernel>(s.functions.add(kernel));
}

} // namespace

CUresult cuLibraryLoadData(CUlibrary* out, const void* image, CUjit_option* jit, void** jit_values, unsigned jit_count,
                           CUlibraryOption*, void**, unsigned) {
    ENTER(cuLibraryLoadData, NEED_INIT);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    auto library = std::make_shared<Library>();
    if (CUresult refused = load_image(lock, image, {jit_count, jit, jit_values}, library->image)) return refused;
    *out = s.libraries.add(library);
    for (const std::shared_ptr<Function>& function : library->image->functions)
        library->kernels.push_back(add_kernel(s, *out, *function));
    return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary handle) {
    ENTER(cuLibraryUnload, NEED_INIT);
    if (!s.libraries.find(handle)) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_memory(lock);
    s.functions.remove_if([&](const Function& function) { return function.library_handle == handle; });
    s.libraries.remove(handle);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
    ENTER(cuLibraryGetKernel, NEED_INIT);
    if (!kernel || !name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Library> library = s.libraries.find(handle);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < library->kernels.size(); i++)
        if (library->image->functions[i]->info->name == name) {
            *kernel = library->kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
    ENTER(cuLibraryGetKernelCount, NEED_INIT);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Library> library = s.libraries.find(handle);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    *count = static_cast<unsigned>(library->kernels.size());
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
    ENTER(cuLibraryEnumerateKernels, NEED_INIT);
    if (!kernels || !count) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Library> library = s.libraries.find(handle);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < count && i < library->kernels.size(); i++) kernels[i] = library->kernels[i];
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name) {
    ENTER(cuLibraryGetGlobal, NEED_CONTEXT);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Library> library = s.libraries.find(handle);
    if (!library) return CUDA_ERROR_INVALID_HANDLE;
    uint64_t start = 0, size = 0;
    if (!emu::global_of(*library->image->module, name, start, size)) return CUDA_ERROR_NOT_FOUND;
    if (address) *address = start;
    if (bytes) *bytes = size;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
    ENTER(cuKernelGetFunction, NEED_CONTEXT);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Context> context = current_context();
    const std::shared_ptr<Function> known = s.functions.find(kernel->function_handle);
    if (!known || known->context.lock() != context) {
        auto function = std::make_shared<Function>(*kernel);
        function->is_kernel = false;
        function->context = context;
        kernel->function_handle = s.functions.add(function);
    }
    *out = kernel->function_handle;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
    ENTER(cuKernelGetLibrary, NEED_INIT);
    if (!library) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    *library = kernel->library_handle;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
    ENTER(cuKernelGetName, NEED_INIT);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
    *name = kernel->info->name.c_str();
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t* offset, size_t* bytes) {
    ENTER(cuKernelGetParamInfo, NEED_INIT);
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    return kernel ? param_info(*kernel, index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
    ENTER(cuKernelGetAttribute, NEED_INIT);
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    return kernel ? get_attribute(*kernel, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
    ENTER(cuKernelSetAttribute, NEED_INIT);
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::shared_ptr<Function> kernel = kernel_of(handle);
    return kernel ? set_attribute(*kernel, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device) {
    ENTER(cuKernelSetCacheConfig, NEED_INIT);
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    return kernel_of(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

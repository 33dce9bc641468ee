// SPDX-License-Identifier: Apache-2.0
// cuLaunch*: see launch.h.
#include "emu/driver/launch.h"

#include "emu/driver/call.h"
#include "emu/driver/function.h"

#include <cstring>

using namespace emu;
using namespace emu::driver;

namespace emu::driver {
namespace {

bool good_shape(const Dim3& grid, const Dim3& block, const Function& function) {
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return false;
    if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) return false;
    if (block.x > 1024 || block.y > 1024 || block.z > 64) return false;
    return uint64_t{block.x} * block.y * block.z <= static_cast<uint64_t>(max_threads_of(function));
}

// `extra` is a list of (marker, value): the address of a packed buffer, and where its size is.
CUresult params_from_buffer(void** extra, size_t needed, std::vector<std::byte>& out) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[1]);
        else return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > needed) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (needed && !buffer) return CUDA_ERROR_INVALID_VALUE;
    if (bytes < needed) // a card launches all the same
        remark("a launch gave fewer bytes of parameters than the kernel has: the rest is zero");
    if (bytes) memcpy(out.data(), buffer, bytes);
    return CUDA_SUCCESS;
}

CUresult gather_params(const LaunchArguments& a, const KernelInfo& info, std::vector<std::byte>& out) {
    out.assign(info.param_bytes, std::byte{});
    if (a.params && a.extra) return CUDA_ERROR_INVALID_VALUE;
    if (a.extra) return params_from_buffer(a.extra, info.param_bytes, out);
    if (!a.params) return info.params.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < info.params.size(); i++) {
        if (!a.params[i]) return CUDA_ERROR_INVALID_VALUE;
        memcpy(out.data() + info.params[i].offset, a.params[i], info.params[i].size);
    }
    return CUDA_SUCCESS;
}

} // namespace

CUresult prepare_launch(const LaunchArguments& a, const std::shared_ptr<Context>& context, KernelWork& out) {
    if (!a.function) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Function> function = state().functions.find(a.function);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (!function->is_kernel && function->context.lock() != context) return CUDA_ERROR_INVALID_HANDLE;
    if (!good_shape(a.grid, a.block, *function)) return CUDA_ERROR_INVALID_VALUE;
    if (a.dynamic_smem > static_cast<unsigned>(function->attributes->max_dynamic_smem)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult refused = gather_params(a, *function->info, out.params)) return refused;
    if (a.cooperative) {
        const uint32_t threads = a.block.x * a.block.y * a.block.z;
        const uint64_t room = uint64_t(resident_blocks(*function, threads, a.dynamic_smem)) * state().profile->sm_count;
        if (uint64_t{a.grid.x} * a.grid.y * a.grid.z > room) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
    out.function = function;
    out.grid = a.grid;
    out.block = a.block;
    out.dynamic_smem = a.dynamic_smem;
    out.cooperative = a.cooperative;
    out.names = this_thread().names;
    return CUDA_SUCCESS;
}

namespace {

CUresult launch(Lock& lock, const LaunchArguments& arguments, CUstream handle) {
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    KernelWork work;
    if (CUresult refusal = prepare_launch(arguments, stream->context.lock(), work)) return refusal;
    return submit(lock, handle, std::move(work));
}

// Attributes that change what a kernel may rely upon are obeyed or refused; hints are accepted.
CUresult read_attribute(const CUlaunchAttribute& attribute, LaunchArguments& arguments) {
    const CUlaunchAttributeValue& value = attribute.value;
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: arguments.cooperative = value.cooperative != 0; return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (value.clusterDim.x == 1 && value.clusterDim.y == 1 && value.clusterDim.z == 1) return CUDA_SUCCESS;
        remark("clusters of more than one block are not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        return value.priority <= LEAST_PRIORITY && value.priority >= GREATEST_PRIORITY ? CUDA_SUCCESS
                                                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        remark("launch attribute " + std::to_string(attribute.id) + " is not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: // the next kernel starts late enough: always legal
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

} // namespace
} // namespace emu::driver

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned smem, CUstream stream, void** params, void** extra) {
    ENTER(cuLaunchKernel, NEED_INIT);
    return launch(lock, {function, {gx, gy, gz}, {bx, by, bz}, smem, params, extra, false}, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** params, void** extra) {
    ENTER(cuLaunchKernelEx, NEED_INIT);
    if (!c || (c->numAttrs && !c->attrs)) return CUDA_ERROR_INVALID_VALUE;
    LaunchArguments arguments{function,
                              {c->gridDimX, c->gridDimY, c->gridDimZ},
                              {c->blockDimX, c->blockDimY, c->blockDimZ},
                              c->sharedMemBytes,
                              params,
                              extra,
                              false};
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (CUresult refusal = read_attribute(c->attrs[i], arguments)) return refusal;
    return launch(lock, arguments, c->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned smem, CUstream stream, void** params) {
    ENTER(cuLaunchCooperativeKernel, NEED_INIT);
    return launch(lock, {function, {gx, gy, gz}, {bx, by, bz}, smem, params, nullptr, true}, stream);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
    ENTER(cuLaunchHostFunc, NEED_INIT);
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    return submit(lock, stream, HostWork{function, nullptr, nullptr, user_data});
}

// SPDX-License-Identifier: Apache-2.0
// cuLaunch*: see launch.h.
#include "emu/driver/launch.h"

#include "emu/driver/call.h"
#include "emu/driver/function.h"

#include <algorithm>
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

// How large the launch's clusters are. What is wrong with that has one error, whatever it is.
CUresult choose_cluster(const LaunchArguments& a, const Function& function, KernelWork& out) {
    const Dim3 required = required_cluster(function), said = a.cluster.x ? a.cluster : required;
    if (said.x && !(said.y && said.z)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const bool differs = said.x != required.x || said.y != required.y || said.z != required.z;
    if (required.x && differs) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    out.explicit_cluster = said.x != 0;
    if (!said.x) return function.info->explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    const uint64_t most = most_of_cluster(function);
    if (std::max({said.x, said.y, said.z}) > most || uint64_t{said.x} * said.y * said.z > most)
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (a.grid.x % said.x || a.grid.y % said.y || a.grid.z % said.z) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    out.cluster = said;
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
    if (CUresult refused = choose_cluster(a, *function, out)) return refused;
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
    out.programmatic = a.programmatic;
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
        arguments.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        return value.clusterDim.x && value.clusterDim.y && value.clusterDim.z ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        return value.priority <= LEAST_PRIORITY && value.priority >= GREATEST_PRIORITY ? CUDA_SUCCESS
                                                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        remark("launch attribute " + std::to_string(attribute.id) + " is not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        arguments.programmatic = value.programmaticStreamSerializationAllowed != 0;
        return CUDA_SUCCESS;
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

CUresult read_attributes(const CUlaunchConfig& config, LaunchArguments& arguments) {
    if (config.numAttrs && !config.attrs) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config.numAttrs; i++)
        if (CUresult refusal = read_attribute(config.attrs[i], arguments)) return refusal;
    return CUDA_SUCCESS;
}
} // namespace emu::driver

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned smem, CUstream stream, void** params, void** extra) {
    ENTER(cuLaunchKernel, NEED_INIT);
    return launch(lock, {function, {gx, gy, gz}, {bx, by, bz}, smem, params, extra, false, {0, 0, 0}, false}, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** params, void** extra) {
    ENTER(cuLaunchKernelEx, NEED_INIT);
    if (!c) return CUDA_ERROR_INVALID_VALUE;
    LaunchArguments arguments{function,
                              {c->gridDimX, c->gridDimY, c->gridDimZ},
                              {c->blockDimX, c->blockDimY, c->blockDimZ},
                              c->sharedMemBytes,
                              params,
                              extra,
                              false,
                              {0, 0, 0},
                              false};
    if (CUresult refusal = read_attributes(*c, arguments)) return refusal;
    return launch(lock, arguments, c->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned smem, CUstream stream, void** params) {
    ENTER(cuLaunchCooperativeKernel, NEED_INIT);
    return launch(lock, {function, {gx, gy, gz}, {bx, by, bz}, smem, params, nullptr, true, {0, 0, 0}, false}, stream);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
    ENTER(cuLaunchHostFunc, NEED_INIT);
    if (!function) return CUDA_ERROR_INVALID_VALUE;
    return submit(lock, stream, HostWork{function, nullptr, nullptr, user_data});
}

// SPDX-License-Identifier: Apache-2.0
// cuFunc*: attributes, names, parameters. Function and kernel handles are both accepted, as on a card.
#include "emu/driver/function.h"

#include "emu/driver/call.h"

#include <algorithm>

using namespace emu::driver;

namespace emu::driver {

int max_threads_of(const Function& function) { return static_cast<int>(std::min(function.info->max_threads, 1024u)); }

Dim3 required_cluster(const Function& function) {
    if (function.info->required_cluster.x) return function.info->required_cluster;
    const int(&set)[3] = function.attributes->required_cluster;
    return {static_cast<uint32_t>(set[0]), static_cast<uint32_t>(set[1]), static_cast<uint32_t>(set[2])};
}

uint32_t most_of_cluster(const Function& function) {
    const uint32_t most =
        function.attributes->nonportable_cluster ? largest_cluster(*state().profile) : PORTABLE_CLUSTER;
    return function.info->max_cluster ? std::min(most, function.info->max_cluster) : most;
}

int registers_of(const Function& function) {
    const uint32_t warps = (static_cast<uint32_t>(max_threads_of(function)) + 31) / 32;
    const uint32_t fits = state().profile->regs_per_sm / (warps * 32) / 8 * 8;
    return static_cast<int>(std::clamp(function.info->declared_regs, 8u, std::min(255u, fits)));
}

CUresult get_attribute(const Function& function, CUfunction_attribute attribute, int* value) {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    const FunctionAttributes& a = *function.attributes;
    const DeviceProfile& profile = *state().profile;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads_of(function); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(function.info->static_smem); break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = registers_of(function); break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = function.ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = profile.cc_major * 10 + profile.cc_minor; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = a.max_dynamic_smem; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = a.carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = function.info->explicit_cluster; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = a.nonportable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = a.cluster_policy; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: *value = static_cast<int>(required_cluster(function).x); break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: *value = static_cast<int>(required_cluster(function).y); break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: *value = static_cast<int>(required_cluster(function).z); break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult set_attribute(const Function& function, CUfunction_attribute attribute, int value) {
    FunctionAttributes& a = *function.attributes;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || uint64_t(value) + function.info->static_smem > state().profile->smem_optin)
            return CUDA_ERROR_INVALID_VALUE;
        a.max_dynamic_smem = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        a.carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: a.nonportable_cluster = value; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (function.info->required_cluster.x) return CUDA_ERROR_NOT_PERMITTED; // the text says it
        if (value < 0) return CUDA_ERROR_INVALID_VALUE;
        a.required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: a.cluster_policy = value; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult param_info(const Function& function, size_t index, size_t* offset, size_t* bytes) {
    const std::vector<ParamInfo>& params = function.info->params;
    if (!offset || index >= params.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = params[index].offset;
    if (bytes) *bytes = params[index].size;
    return CUDA_SUCCESS;
}

} // namespace emu::driver

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    ENTER(cuFuncGetAttribute, NEED_HEALTH);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    return function ? get_attribute(*function, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    ENTER(cuFuncSetAttribute, NEED_HEALTH);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    return function ? set_attribute(*function, attribute, value) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
    ENTER(cuFuncSetCacheConfig, NEED_HEALTH);
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    return s.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
    ENTER(cuFuncGetModule, NEED_HEALTH);
    if (!module) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function || !function->module_handle) return CUDA_ERROR_INVALID_HANDLE;
    *module = function->module_handle;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
    ENTER(cuFuncGetName, NEED_HEALTH);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> function = s.functions.find(handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    *name = function->info->name.c_str();
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
    ENTER(cuFuncGetParamInfo, NEED_HEALTH);
    const std::shared_ptr<Function> function = s.functions.find(handle);
    return function ? param_info(*function, index, offset, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncLoad(CUfunction handle) { // code is always loaded
    ENTER(cuFuncLoad, NEED_HEALTH);
    return s.functions.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

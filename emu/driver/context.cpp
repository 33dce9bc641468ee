// SPDX-License-Identifier: Apache-2.0
// Contexts: the primary one, created ones, and the stack of current contexts that each host thread has.
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

CUresult check_device(CUdevice device) { return device == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; }

std::shared_ptr<Context> context_or_current(CUcontext handle) {
    return handle ? state().contexts.find(handle) : current_context();
}

CUresult synchronize(Lock& lock, const std::shared_ptr<Context>& context) {
    if (any_capture_in(*context)) {
        check_unsafe_call();
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return wait_for_context(lock, context);
}

CUresult create(State& s, CUcontext* out, unsigned flags, CUdevice device) {
    if (!out || (flags & ~unsigned{CU_CTX_FLAGS_MASK})) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult refusal = check_device(device)) return refusal;
    if (s.fault) return s.fault;
    const std::shared_ptr<Context> context = make_context(s, flags, false);
    this_thread().contexts.push_back(context->handle);
    *out = context->handle;
    return CUDA_SUCCESS;
}

void drop_primary(Lock& lock, State& s) {
    discard_context(lock, s.primary, false);
    s.primary.reset();
    s.primary_retained = 0;
}

} // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice device) {
    ENTER(cuDevicePrimaryCtxRetain, NEED_INIT);
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult refusal = check_device(device)) return refusal;
    if (!s.primary && s.fault) return s.fault;
    if (!s.primary) s.primary = make_context(s, s.primary_flags, true);
    s.primary_retained++;
    *out = s.primary->handle;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxRelease_v2, NEED_INIT);
    if (CUresult refusal = check_device(device)) return refusal;
    if (!s.primary) return CUDA_ERROR_INVALID_CONTEXT;
    if (--s.primary_retained == 0) drop_primary(lock, s);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    ENTER(cuDevicePrimaryCtxReset_v2, NEED_INIT);
    if (CUresult refusal = check_device(device)) return refusal;
    if (s.primary) discard_context(lock, s.primary, true);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    ENTER(cuDevicePrimaryCtxSetFlags_v2, NEED_INIT);
    if (CUresult refusal = check_device(device)) return refusal;
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    s.primary_flags = flags;
    if (s.primary) s.primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    ENTER(cuDevicePrimaryCtxGetState, NEED_INIT);
    if (CUresult refusal = check_device(device)) return refusal;
    if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
    *flags = s.primary_flags;
    *active = s.primary != nullptr;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    ENTER(cuCtxCreate_v2, NEED_INIT);
    return create(s, context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags, CUdevice device) {
    ENTER(cuCtxCreate_v4, NEED_INIT);
    if (params) {
        remark("cuCtxCreate_v4 with parameters is not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return create(s, context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
    ENTER(cuCtxDestroy_v2, NEED_INIT);
    const std::shared_ptr<Context> context = s.contexts.find(handle);
    if (!context || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
    std::vector<CUcontext>& stack = this_thread().contexts;
    if (!stack.empty() && stack.back() == handle) stack.pop_back();
    discard_context(lock, context, false);
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    ENTER(cuCtxPushCurrent_v2, NEED_INIT);
    if (!s.contexts.find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    this_thread().contexts.push_back(handle);
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
    ENTER(cuCtxPopCurrent_v2, NEED_INIT);
    std::vector<CUcontext>& stack = this_thread().contexts;
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (handle) *handle = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) { // replaces the top of the stack; null pops it
    ENTER(cuCtxSetCurrent, NEED_INIT);
    if (handle && !s.contexts.find(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    std::vector<CUcontext>& stack = this_thread().contexts;
    if (!stack.empty()) stack.pop_back();
    if (handle) stack.push_back(handle);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
    ENTER(cuCtxGetCurrent, NEED_INIT | FROM_CALLBACK);
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    const std::vector<CUcontext>& stack = this_thread().contexts;
    *handle = stack.empty() ? nullptr : stack.back();
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    ENTER(cuCtxGetDevice, NEED_INIT);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
    ENTER(cuCtxGetDevice_v2, NEED_INIT);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!context_or_current(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned* flags) {
    ENTER(cuCtxGetFlags, NEED_CONTEXT);
    if (!flags) return CUDA_ERROR_INVALID_VALUE;
    *flags = current_context()->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
    ENTER(cuCtxSetFlags, NEED_CONTEXT);
    if (flags & ~unsigned{CU_CTX_FLAGS_MASK}) return CUDA_ERROR_INVALID_VALUE;
    current_context()->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    ENTER(cuCtxGetId, NEED_INIT);
    if (!id) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Context> context = context_or_current(handle);
    if (!context) return handle ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
    ENTER(cuCtxGetApiVersion, NEED_INIT);
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    if (!context_or_current(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    *version = 3020;
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
    ENTER(cuCtxSynchronize, NEED_CONTEXT);
    return synchronize(lock, current_context());
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
    ENTER(cuCtxSynchronize_v2, NEED_INIT);
    const std::shared_ptr<Context> context = context_or_current(handle);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    return synchronize(lock, context);
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    ENTER(cuCtxGetLimit, NEED_CONTEXT);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (limit < CU_LIMIT_STACK_SIZE || limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = current_context()->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    ENTER(cuCtxSetLimit, NEED_CONTEXT | UNSAFE);
    if (limit < CU_LIMIT_STACK_SIZE || limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    current_context()->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    ENTER(cuCtxGetCacheConfig, NEED_CONTEXT);
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    *config = current_context()->cache;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    ENTER(cuCtxSetCacheConfig, NEED_CONTEXT);
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    current_context()->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    ENTER(cuCtxGetStreamPriorityRange, NEED_CONTEXT);
    if (least) *least = LEAST_PRIORITY;
    if (greatest) *greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation. An address is usable from the call on (a card promises it only in stream order), while a
// free takes effect in stream order, so work that comes too late is found. Pools keep books and hold nothing back.
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

CUresult allocate(Lock& lock, CUdeviceptr* out, size_t bytes, CUmemoryPool handle, CUstream stream_handle) {
    if (!out || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    State& s = state();
    const std::shared_ptr<Pool> pool = s.pools.find(handle);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(stream_handle, stream)) return refusal;
    if (stream->capture) {
        remark("allocation nodes in graphs are not implemented");
        return refuse_and_invalidate(stream->capture, CUDA_ERROR_NOT_SUPPORTED);
    }
    if (CUresult refusal = check_unsafe_call()) return refusal;
    wait_for_memory(lock);
    const uint64_t address = s.memory.allocate(bytes);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    Block block;
    block.kind = Block::Kind::pooled;
    block.bytes = bytes;
    block.id = address;
    block.context = stream->context;
    block.pool = pool;
    s.blocks.emplace(address, block);
    s.races.forget(address, bytes);
    pool->used += bytes;
    pool->used_high = std::max(pool->used_high, pool->used);
    *out = address;
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    ENTER(cuMemAllocAsync, NEED_INIT);
    return allocate(lock, address, bytes, s.current_pool, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
    ENTER(cuMemAllocFromPoolAsync, NEED_INIT);
    return allocate(lock, address, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    ENTER(cuMemFreeAsync, NEED_INIT);
    auto it = s.blocks.find(address);
    if (it == s.blocks.end() || it->second.kind == Block::Kind::host) return CUDA_ERROR_INVALID_VALUE;
    return submit(lock, stream, FreeWork{address});
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
    ENTER(cuMemPoolCreate, NEED_INIT);
    if (!pool || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (props->location.id != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (props->handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;
    *pool = s.pools.add(std::make_shared<Pool>());
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
    ENTER(cuMemPoolDestroy, NEED_INIT);
    const std::shared_ptr<Pool> pool = s.pools.find(handle);
    if (!pool || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    if (s.current_pool == handle) s.current_pool = s.default_pool;
    s.pools.remove(handle);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
    ENTER(cuMemPoolTrimTo, NEED_INIT);
    return s.pools.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    ENTER(cuMemPoolSetAttribute, NEED_INIT);
    const std::shared_ptr<Pool> pool = s.pools.find(handle);
    if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t number = attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? 0 : *static_cast<cuuint64_t*>(value);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuse[attribute] = *static_cast<int*>(value);
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->release_threshold = number; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: // may only be reset
        if (number != 0) return CUDA_ERROR_INVALID_VALUE;
        pool->used_high = pool->used;
        return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
    ENTER(cuMemPoolGetAttribute, NEED_INIT);
    const std::shared_ptr<Pool> pool = s.pools.find(handle);
    if (!pool || !value) return CUDA_ERROR_INVALID_VALUE;
    cuuint64_t& number = *static_cast<cuuint64_t*>(value);
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *static_cast<int*>(value) = pool->reuse[attribute];
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: number = pool->release_threshold; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number = pool->used; return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: number = pool->used_high; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    ENTER(cuDeviceGetDefaultMemPool, NEED_INIT);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *pool = s.default_pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    ENTER(cuDeviceGetMemPool, NEED_INIT);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    *pool = s.current_pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    ENTER(cuDeviceSetMemPool, NEED_INIT);
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    if (!s.pools.find(pool)) return CUDA_ERROR_INVALID_VALUE;
    s.current_pool = pool;
    return CUDA_SUCCESS;
}

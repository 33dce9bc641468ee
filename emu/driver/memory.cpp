// SPDX-License-Identifier: Apache-2.0
// Allocation. Host memory that kernels may reach (cuMemHostAlloc, managed) lies in the device's range too, and counts
// as
// defined from the start, because the host writes it unseen.
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

CUresult allocate(Lock& lock, Block::Kind kind, size_t bytes, unsigned flags, uint64_t& address) {
    static uint64_t ids = 0;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    wait_for_memory(lock);
    State& s = state();
    address = s.memory.allocate(bytes);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    Block block;
    block.kind = kind;
    block.bytes = bytes;
    block.flags = flags;
    block.id = ++ids;
    block.context = current_context();
    s.blocks.emplace(address, block);
    s.races.forget(address, bytes);
    if (kind == Block::Kind::host || kind == Block::Kind::managed) s.memory.mark_defined(address, bytes);
    return CUDA_SUCCESS;
}

// Freeing waits for all work of the context, as a card does.
CUresult release(Lock& lock, uint64_t address, bool host) {
    State& s = state();
    const auto is_start = [&] {
        auto it = s.blocks.find(address);
        return it != s.blocks.end() && (it->second.kind == Block::Kind::host) == host;
    };
    if (!is_start()) return CUDA_ERROR_INVALID_VALUE;
    const CUresult failed = wait_for_context(lock, current_context());
    wait_for_memory(lock);
    if (failed) return failed;
    if (!is_start()) return CUDA_ERROR_INVALID_VALUE; // freed by another thread, or by queued work, meanwhile
    s.memory.release(address);
    forget_block(address);
    return CUDA_SUCCESS;
}

CUresult allocate_host(Lock& lock, void** pointer, size_t bytes, unsigned flags) {
    constexpr unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (!pointer || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
    uint64_t address = 0;
    if (CUresult failed = allocate(lock, Block::Kind::host, bytes, flags, address)) return failed;
    *pointer = reinterpret_cast<void*>(uintptr_t{address});
    return CUDA_SUCCESS;
}

const Block* find_host_block(void* pointer) {
    const Block* block = find_block(reinterpret_cast<uintptr_t>(pointer));
    return block && block->kind == Block::Kind::host ? block : nullptr;
}

} // namespace

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
    ENTER(cuMemGetInfo_v2, NEED_CONTEXT);
    if (!free_bytes || !total_bytes) return CUDA_ERROR_INVALID_VALUE;
    *total_bytes = s.memory.capacity();
    *free_bytes = s.memory.room();
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    ENTER(cuMemAlloc_v2, NEED_CONTEXT | UNSAFE);
    if (!address) return CUDA_ERROR_INVALID_VALUE;
    uint64_t start = 0;
    if (CUresult failed = allocate(lock, Block::Kind::device, bytes, 0, start)) return failed;
    *address = start;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element) {
    ENTER(cuMemAllocPitch_v2, NEED_CONTEXT | UNSAFE);
    if (!address || !pitch || !width || !height) return CUDA_ERROR_INVALID_VALUE;
    if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
    if (width > s.memory.capacity() || height > s.memory.capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
    const size_t row = (width + 511) / 512 * 512;
    if (height > s.memory.capacity() / row) return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t start = 0;
    if (CUresult failed = allocate(lock, Block::Kind::device, row * height, 0, start)) return failed;
    *address = start;
    *pitch = row;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
    ENTER(cuMemAllocManaged, NEED_CONTEXT | UNSAFE);
    if (!address || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) return CUDA_ERROR_INVALID_VALUE;
    uint64_t start = 0;
    if (CUresult failed = allocate(lock, Block::Kind::managed, bytes, flags, start)) return failed;
    *address = start;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    ENTER(cuMemFree_v2, NEED_CONTEXT | UNSAFE);
    return address ? release(lock, address, false) : CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
    ENTER(cuMemAllocHost_v2, NEED_CONTEXT | UNSAFE);
    return allocate_host(lock, pointer, bytes, 0);
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
    ENTER(cuMemHostAlloc, NEED_CONTEXT | UNSAFE);
    return allocate_host(lock, pointer, bytes, flags);
}

CUresult cuMemFreeHost(void* pointer) {
    ENTER(cuMemFreeHost, NEED_CONTEXT | UNSAFE);
    return pointer ? release(lock, reinterpret_cast<uintptr_t>(pointer), true) : CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
    ENTER(cuMemHostGetDevicePointer_v2, NEED_CONTEXT);
    if (!address || flags || !find_host_block(pointer)) return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<uintptr_t>(pointer);
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
    ENTER(cuMemHostGetFlags, NEED_CONTEXT);
    const Block* block = find_host_block(pointer);
    if (!flags || !block) return CUDA_ERROR_INVALID_VALUE;
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP; // always mapped under unified addressing
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
    ENTER(cuMemGetAddressRange_v2, NEED_CONTEXT);
    uint64_t start = 0;
    const Block* block = find_block(address, &start);
    if (!block) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = start;
    if (bytes) *bytes = block->bytes;
    return CUDA_SUCCESS;
}

// SPDX-License-Identifier: Apache-2.0
// What an address is: cuPointerGetAttribute(s).
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

template <class T> CUresult give(void* data, T value) {
    *static_cast<T*>(data) = value;
    return CUDA_SUCCESS;
}

CUresult answer(void* data, CUpointer_attribute attribute, const Block& block, uint64_t start, uint64_t address) {
    const bool host = block.kind == Block::Kind::host;
    const std::shared_ptr<Context> context = block.context.lock();
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return give<CUcontext>(data, context ? context->handle : nullptr);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return give<unsigned>(data, host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give<CUdeviceptr>(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host && block.kind != Block::Kind::managed) return CUDA_ERROR_INVALID_VALUE;
        return give<void*>(data, reinterpret_cast<void*>(uintptr_t{address}));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return give<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return give<unsigned long long>(data, block.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give<unsigned>(data, block.kind == Block::Kind::managed);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give<int>(data, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give<CUdeviceptr>(data, start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give<size_t>(data, block.bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED: return give<unsigned>(data, 1);
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

// The form for several attributes answers "nothing" instead of failing.
void answer_nothing(void* data, CUpointer_attribute attribute) {
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED: give<unsigned>(data, 0); break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: give<int>(data, -2); break;
    default: give<unsigned long long>(data, 0); break;
    }
}

} // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    ENTER(cuPointerGetAttribute, NEED_INIT);
    uint64_t start = 0;
    const Block* block = find_block(address, &start);
    if (!data || !block) return CUDA_ERROR_INVALID_VALUE;
    return answer(data, attribute, *block, start, address);
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data, CUdeviceptr address) {
    ENTER(cuPointerGetAttributes, NEED_INIT);
    if (!attributes || !data) return CUDA_ERROR_INVALID_VALUE;
    uint64_t start = 0;
    const Block* block = find_block(address, &start);
    for (unsigned i = 0; i < count; i++) {
        const CUresult given =
            block ? answer(data[i], attributes[i], *block, start, address) : CUDA_ERROR_INVALID_VALUE;
        if (given == CUDA_ERROR_NOT_SUPPORTED) return given;
        if (given != CUDA_SUCCESS) answer_nothing(data[i], attributes[i]);
    }
    return CUDA_SUCCESS;
}

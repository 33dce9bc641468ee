// SPDX-License-Identifier: Apache-2.0
// cuMemcpy*: the plain forms, and the rules that all copies share (transfer.h).
#include "emu/driver/transfer.h"

#include <cstring>

using namespace emu::driver;

namespace emu::driver {
namespace {

size_t span_of(const CopySide& side, const CopyWork& work) {
    return (work.depth - 1) * side.slice + (work.height - 1) * side.pitch + work.width;
}

bool good(const CopySide& side, const CopyWork& work, Place place) {
    const bool device = state().memory.owns(side.address);
    if (place == Place::device && !device) return false;
    return device ? state().memory.holds(side.address, span_of(side, work)) : side.address != 0;
}

} // namespace

CUresult transfer(Lock& lock, CopyWork work, Place from, Place to, CUstream handle, When when) {
    if (work.width == 0 || work.height == 0 || work.depth == 0) return CUDA_SUCCESS;
    if (!good(work.from, work, from) || !good(work.to, work, to)) return CUDA_ERROR_INVALID_VALUE;
    if (when == When::now) return submit(lock, handle, std::move(work), true);

    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->capture) return submit(lock, handle, std::move(work)); // host memory is read at each replay
    if (!state().memory.owns(work.from.address)) {
        const auto* bytes = reinterpret_cast<const std::byte*>(uintptr_t{work.from.address});
        try {
            work.staged = std::make_shared<std::vector<std::byte>>(bytes, bytes + span_of(work.from, work));
        } catch (const std::bad_alloc&) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    const bool to_pageable = !state().memory.owns(work.to.address);
    return submit(lock, handle, std::move(work), to_pageable);
}

namespace {

CUresult plain(Lock& lock, uint64_t to, Place to_place, uint64_t from, Place from_place, size_t bytes, CUstream stream,
               When when) {
    return transfer(lock, CopyWork{{from, 0, 0}, {to, 0, 0}, bytes, 1, 1, nullptr}, from_place, to_place, stream, when);
}

uint64_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

} // namespace
} // namespace emu::driver

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(cuMemcpy, NEED_CONTEXT);
    return plain(lock, to, Place::either, from, Place::either, bytes, nullptr, When::now);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(cuMemcpyAsync, NEED_INIT);
    return plain(lock, to, Place::either, from, Place::either, bytes, stream, When::later);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    ENTER(cuMemcpyHtoD_v2, NEED_CONTEXT);
    return plain(lock, to, Place::device, number(from), Place::host, bytes, nullptr, When::now);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
    ENTER(cuMemcpyHtoDAsync_v2, NEED_INIT);
    return plain(lock, to, Place::device, number(from), Place::host, bytes, stream, When::later);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    ENTER(cuMemcpyDtoH_v2, NEED_CONTEXT);
    return plain(lock, number(to), Place::host, from, Place::device, bytes, nullptr, When::now);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(cuMemcpyDtoHAsync_v2, NEED_INIT);
    return plain(lock, number(to), Place::host, from, Place::device, bytes, stream, When::later);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    ENTER(cuMemcpyDtoD_v2, NEED_CONTEXT);
    return plain(lock, to, Place::device, from, Place::device, bytes, nullptr, When::now);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    ENTER(cuMemcpyDtoDAsync_v2, NEED_INIT);
    return plain(lock, to, Place::device, from, Place::device, bytes, stream, When::later);
}

// SPDX-License-Identifier: Apache-2.0
// cuMemset*: twelve forms of one filled rectangle. Device memory makes even the synchronous forms asynchronous to the
// host; they are ordered in the default stream, and so the host sees the bytes through a copy only.
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

CUresult fill(Lock& lock, FillWork work, CUstream stream) {
    if (work.width == 0 || work.height == 0) return CUDA_SUCCESS;
    const size_t most = state().memory.capacity(); // so that the products below fit
    if (work.width > most / work.element || work.height > most || work.pitch > most) return CUDA_ERROR_INVALID_VALUE;
    if (work.height > 1 && work.pitch > most / (work.height - 1)) return CUDA_ERROR_INVALID_VALUE;
    const size_t row = work.width * work.element;
    if (work.address % work.element || (work.height > 1 && (work.pitch < row || work.pitch % work.element)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!state().memory.holds(work.address, (work.height - 1) * work.pitch + row)) return CUDA_ERROR_INVALID_VALUE;
    return submit(lock, stream, work);
}

} // namespace

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    ENTER(cuMemsetD8_v2, NEED_CONTEXT);
    return fill(lock, {to, 0, value, 1, count, 1}, nullptr);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    ENTER(cuMemsetD16_v2, NEED_CONTEXT);
    return fill(lock, {to, 0, value, 2, count, 1}, nullptr);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    ENTER(cuMemsetD32_v2, NEED_CONTEXT);
    return fill(lock, {to, 0, value, 4, count, 1}, nullptr);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
    ENTER(cuMemsetD2D8_v2, NEED_CONTEXT);
    return fill(lock, {to, pitch, value, 1, width, height}, nullptr);
}

CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
    ENTER(cuMemsetD2D16_v2, NEED_CONTEXT);
    return fill(lock, {to, pitch, value, 2, width, height}, nullptr);
}

CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
    ENTER(cuMemsetD2D32_v2, NEED_CONTEXT);
    return fill(lock, {to, pitch, value, 4, width, height}, nullptr);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    ENTER(cuMemsetD8Async, NEED_INIT);
    return fill(lock, {to, 0, value, 1, count, 1}, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    ENTER(cuMemsetD16Async, NEED_INIT);
    return fill(lock, {to, 0, value, 2, count, 1}, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    ENTER(cuMemsetD32Async, NEED_INIT);
    return fill(lock, {to, 0, value, 4, count, 1}, stream);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
    ENTER(cuMemsetD2D8Async, NEED_INIT);
    return fill(lock, {to, pitch, value, 1, width, height}, stream);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
    ENTER(cuMemsetD2D16Async, NEED_INIT);
    return fill(lock, {to, pitch, value, 2, width, height}, stream);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
    ENTER(cuMemsetD2D32Async, NEED_INIT);
    return fill(lock, {to, pitch, value, 4, width, height}, stream);
}

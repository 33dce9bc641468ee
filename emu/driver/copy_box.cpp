// SPDX-License-Identifier: Apache-2.0
// cuMemcpy2D* and cuMemcpy3D*. Two dimensions are three with one plane.
#include "emu/driver/copy_box.h"

using namespace emu::driver;

namespace emu::driver {
namespace {

struct Side {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, rows;
};

CUresult side_of(const Side& given, const CUDA_MEMCPY3D& copy, CopySide& out, Place& place) {
    if (given.type == CU_MEMORYTYPE_ARRAY) {
        if (!given.array) return CUDA_ERROR_INVALID_VALUE;
        remark("copies of CUDA arrays are not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (given.type < CU_MEMORYTYPE_HOST || given.type > CU_MEMORYTYPE_UNIFIED) return CUDA_ERROR_INVALID_VALUE;
    place = given.type == CU_MEMORYTYPE_HOST     ? Place::host
            : given.type == CU_MEMORYTYPE_DEVICE ? Place::device
                                                 : Place::either;
    out.pitch = given.pitch ? given.pitch : given.x + copy.WidthInBytes;
    const size_t rows = given.rows ? given.rows : given.y + copy.Height;
    if (out.pitch < given.x + copy.WidthInBytes || (copy.Depth > 1 && rows < given.y + copy.Height))
        return CUDA_ERROR_INVALID_VALUE;
    out.slice = out.pitch * rows;
    const uint64_t base = place == Place::host ? reinterpret_cast<uintptr_t>(given.host) : given.device;
    out.address = base + given.z * out.slice + given.y * out.pitch + given.x;
    return CUDA_SUCCESS;
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D& c) {
    CUDA_MEMCPY3D w{};
    w.srcXInBytes = c.srcXInBytes, w.srcY = c.srcY, w.srcMemoryType = c.srcMemoryType, w.srcHost = c.srcHost;
    w.srcDevice = c.srcDevice, w.srcArray = c.srcArray, w.srcPitch = c.srcPitch;
    w.dstXInBytes = c.dstXInBytes, w.dstY = c.dstY, w.dstMemoryType = c.dstMemoryType, w.dstHost = c.dstHost;
    w.dstDevice = c.dstDevice, w.dstArray = c.dstArray, w.dstPitch = c.dstPitch;
    w.WidthInBytes = c.WidthInBytes, w.Height = c.Height, w.Depth = 1;
    return w;
}

CUresult box(Lock& lock, const CUDA_MEMCPY3D* copy, CUstream stream, When when) {
    BoxCopy b{};
    if (CUresult refusal = box_of(copy, b)) return refusal;
    return transfer(lock, std::move(b.work), b.from, b.to, stream, when);
}

CUresult flat(Lock& lock, const CUDA_MEMCPY2D* copy, CUstream stream, When when) {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D wide = widen(*copy);
    return box(lock, &wide, stream, when);
}

} // namespace

CUresult box_of(const CUDA_MEMCPY3D* copy, BoxCopy& out) {
    if (!copy) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D& c = *copy;
    out.work.width = c.WidthInBytes;
    out.work.height = c.Height;
    out.work.depth = c.Depth;
    const Side from{c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcXInBytes,
                    c.srcY,          c.srcZ,    c.srcPitch,  c.srcHeight};
    const Side to{c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstXInBytes,
                  c.dstY,          c.dstZ,    c.dstPitch,  c.dstHeight};
    if (CUresult refusal = side_of(from, c, out.work.from, out.from)) return refusal;
    return side_of(to, c, out.work.to, out.to);
}

} // namespace emu::driver

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
    ENTER(cuMemcpy2D_v2, NEED_CONTEXT);
    return flat(lock, copy, nullptr, When::now);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
    ENTER(cuMemcpy2DUnaligned_v2, NEED_CONTEXT);
    return flat(lock, copy, nullptr, When::now);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
    ENTER(cuMemcpy2DAsync_v2, NEED_INIT);
    return flat(lock, copy, stream, When::later);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
    ENTER(cuMemcpy3D_v2, NEED_CONTEXT);
    return box(lock, copy, nullptr, When::now);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
    ENTER(cuMemcpy3DAsync_v2, NEED_INIT);
    return box(lock, copy, stream, When::later);
}

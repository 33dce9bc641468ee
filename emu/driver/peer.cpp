// SPDX-License-Identifier: Apache-2.0
// Peers. There is one device, which is no peer of itself: access is refused as a card refuses it, and copies are copies
// between contexts of that device.
#include "emu/driver/transfer.h"

using namespace emu::driver;

namespace {

CUresult copy(Lock& lock, CopyWork work, CUcontext to, CUcontext from, CUstream stream, When when) {
    if (!state().contexts.find(to) || !state().contexts.find(from)) return CUDA_ERROR_INVALID_CONTEXT;
    return transfer(lock, std::move(work), Place::device, Place::device, stream, when);
}

} // namespace

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    ENTER(cuDeviceCanAccessPeer, NEED_INIT);
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    if (device != 0 || peer != 0) return CUDA_ERROR_INVALID_DEVICE;
    *can = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    ENTER(cuCtxEnablePeerAccess, NEED_CONTEXT);
    const std::shared_ptr<Context> other = s.contexts.find(peer);
    if (!other || other == current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    ENTER(cuCtxDisablePeerAccess, NEED_CONTEXT);
    return s.contexts.find(peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes) {
    ENTER(cuMemcpyPeer, NEED_INIT);
    return copy(lock, CopyWork{{from, 0, 0}, {to, 0, 0}, bytes, 1, 1, nullptr}, to_context, from_context, nullptr,
                When::now);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes,
                           CUstream stream) {
    ENTER(cuMemcpyPeerAsync, NEED_INIT);
    return copy(lock, CopyWork{{from, 0, 0}, {to, 0, 0}, bytes, 1, 1, nullptr}, to_context, from_context, stream,
                When::later);
}

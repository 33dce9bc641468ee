// SPDX-License-Identifier: Apache-2.0
// Streams: creation, waiting, asking. Their order of execution is scheduler.cpp's, capture is capture.cpp's.
#include "emu/driver/call.h"

#include <algorithm>

using namespace emu::driver;

namespace {

CUresult create(State& s, CUstream* out, unsigned flags, int priority) {
    if (!out || (flags & ~unsigned{CU_STREAM_NON_BLOCKING})) return CUDA_ERROR_INVALID_VALUE;
    auto stream = std::make_shared<Stream>();
    stream->context = current_context();
    stream->flags = flags;
    stream->priority = std::clamp(priority, GREATEST_PRIORITY, LEAST_PRIORITY);
    stream->id = next_handle();
    *out = stream->handle = s.streams.add(stream);
    std::erase_if(current_context()->streams, [](const std::weak_ptr<Stream>& old) { return old.expired(); });
    current_context()->streams.push_back(stream);
    return CUDA_SUCCESS;
}

// What the host waits for when it waits for a stream: for the legacy stream also what that stream would wait for.
CUresult wait(Lock& lock, const std::shared_ptr<Stream>& stream) {
    const std::shared_ptr<Context> context = stream->context.lock();
    for (const std::shared_ptr<Op>& op : stream->legacy ? predecessors(*stream) : Ops{stream->last})
        if (CUresult failed = wait_for(lock, op)) return failed;
    return context->sticky;
}

CUresult refuse_while_capturing(const std::shared_ptr<Stream>& stream) {
    if (stream->capture) return refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (stream->legacy)
        if (CUresult refusal = check_legacy_stream(*stream->context.lock())) return refusal;
    return check_unsafe_call();
}

// What is asked of a stream, where there is one, and a place for the answer.
template <class Answer, class Of> CUresult tell(CUstream handle, Answer* answer, Of of) {
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (!answer) return CUDA_ERROR_INVALID_VALUE;
    *answer = of(*stream);
    return CUDA_SUCCESS;
}

} // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    ENTER(cuStreamCreate, NEED_CONTEXT);
    return create(s, stream, flags, LEAST_PRIORITY);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    ENTER(cuStreamCreateWithPriority, NEED_CONTEXT);
    return create(s, stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream handle) { // queued work still completes
    ENTER(cuStreamDestroy_v2, NEED_INIT);
    const std::shared_ptr<Stream> stream = s.streams.find(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) stream->capture->invalid = true;
    s.streams.remove(handle);
    return current_sticky();
}

CUresult cuStreamSynchronize(CUstream handle) {
    ENTER(cuStreamSynchronize, NEED_INIT);
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (CUresult refusal = refuse_while_capturing(stream)) return refusal;
    return wait(lock, stream);
}

CUresult cuStreamQuery(CUstream handle) {
    ENTER(cuStreamQuery, NEED_INIT);
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (CUresult refusal = refuse_while_capturing(stream)) return refusal;
    run_one(lock);
    for (const std::shared_ptr<Op>& op : stream->legacy ? predecessors(*stream) : Ops{stream->last})
        if (!is_done(op)) return CUDA_ERROR_NOT_READY;
    return stream->context.lock()->sticky;
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
    ENTER(cuStreamWaitEvent, NEED_INIT);
    if (flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    const std::shared_ptr<Event> event = s.events.find(event_handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture && (flags & CU_EVENT_WAIT_EXTERNAL)) return capture_work(stream, WaitWork{event});
    if (stream->capture || event->capture) return capture_wait(stream, *event);
    Ops after = predecessors(*stream);
    after.push_back(event->last);
    stream->last = add_op(stream->context.lock(), NoWork{}, after);
    run_eagerly(lock);
    return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* user_data, unsigned flags) {
    ENTER(cuStreamAddCallback, NEED_INIT);
    if (!callback || flags) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->capture) return refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    return submit(lock, handle, HostWork{nullptr, callback, handle, user_data});
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    ENTER(cuStreamGetPriority, NEED_INIT);
    return tell(handle, priority, [](const Stream& stream) { return stream.priority; });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
    ENTER(cuStreamGetFlags, NEED_INIT);
    return tell(handle, flags, [](const Stream& stream) { return stream.flags; });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    ENTER(cuStreamGetId, NEED_INIT);
    return tell(handle, id, [](const Stream& stream) { return stream.id; });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
    ENTER(cuStreamGetCtx, NEED_INIT);
    return tell(handle, context, [](const Stream& stream) { return stream.context.lock()->handle; });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
    ENTER(cuStreamGetDevice, NEED_INIT);
    return tell(handle, device, [](const Stream&) { return 0; });
}

// SPDX-License-Identifier: Apache-2.0
// Events. A recorded event is the op that recorded it; its time is that of the host's clock, or
// what was counted, when that op was done.
#include "emu/driver/call.h"

using namespace emu::driver;

namespace {

CUresult record(Lock& lock, CUevent event_handle, CUstream handle, unsigned flags) {
    if (flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Event> event = state().events.find(event_handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->context.lock() != event->context.lock()) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture && (flags & CU_EVENT_RECORD_EXTERNAL)) return capture_work(stream, RecordWork{event});
    if (stream->capture) {
        if (stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        event->capture = stream->capture;
        event->tips = stream->tips;
        return CUDA_SUCCESS;
    }
    if (stream->legacy)
        if (CUresult refusal = check_legacy_stream(*stream->context.lock())) return refusal;
    event->capture.reset();
    event->tips.clear();
    event->last = append(stream, RecordWork{event});
    run_eagerly(lock);
    return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Event> start = state().events.find(start_handle), end = state().events.find(end_handle);
    if (!start || !end) return CUDA_ERROR_INVALID_HANDLE;
    for (const std::shared_ptr<Event>& event : {start, end})
        if (event->capture) return event->capture->ended ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_CAPTURED_EVENT;
    if (!start->last || !end->last) return CUDA_ERROR_INVALID_HANDLE;
    if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_done(start->last) || !is_done(end->last)) return CUDA_ERROR_NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(end->last->finished - start->last->finished).count();
    return CUDA_SUCCESS;
}

CUresult check_captured(const Event& event) {
    if (!event.capture) return CUDA_SUCCESS;
    return event.capture->ended ? CUDA_ERROR_INVALID_VALUE
                                : refuse_and_invalidate(event.capture, CUDA_ERROR_CAPTURED_EVENT);
}

} // namespace

CUresult cuEventCreate(CUevent* out, unsigned flags) {
    ENTER(cuEventCreate, NEED_CONTEXT);
    constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (!out || (flags & ~known)) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS) {
        remark("interprocess events are not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    auto event = std::make_shared<Event>();
    event->context = current_context();
    event->flags = flags;
    *out = s.events.add(event);
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent handle) {
    ENTER(cuEventDestroy_v2, NEED_INIT);
    const std::shared_ptr<Event> event = s.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    event->capture.reset(); // its graph may have nodes that record this very event
    event->tips.clear();
    s.events.remove(handle);
    return current_sticky();
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    ENTER(cuEventRecord, NEED_INIT);
    return record(lock, event, stream, 0);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    ENTER(cuEventRecordWithFlags, NEED_INIT);
    return record(lock, event, stream, flags);
}

CUresult cuEventQuery(CUevent handle) {
    ENTER(cuEventQuery, NEED_INIT);
    const std::shared_ptr<Event> event = s.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult refusal = check_captured(*event)) return refusal;
    if (CUresult refusal = check_unsafe_call()) return refusal;
    run_one(lock);
    if (!is_done(event->last)) return CUDA_ERROR_NOT_READY;
    const std::shared_ptr<Context> context = event->context.lock();
    return context ? context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult cuEventSynchronize(CUevent handle) {
    ENTER(cuEventSynchronize, NEED_INIT);
    const std::shared_ptr<Event> event = s.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult refusal = check_captured(*event)) return refusal;
    if (CUresult refusal = check_unsafe_call()) return refusal;
    const std::shared_ptr<Context> context = event->context.lock();
    if (!context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    wait_for(lock, event->last);
    return context->sticky;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    ENTER(cuEventElapsedTime, NEED_INIT);
    return elapsed(milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    ENTER(cuEventElapsedTime_v2, NEED_INIT);
    return elapsed(milliseconds, start, end);
}

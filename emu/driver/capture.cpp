// SPDX-License-Identifier: Apache-2.0
// Stream capture: see capture.h for the picture. All rules of what is refused while a stream captures are here.
#include "emu/driver/capture.h"

#include "emu/driver/call.h"

#include <algorithm>
#include <set>

using namespace emu::driver;

namespace emu::driver {
namespace {

void join(const std::shared_ptr<Capture>& capture, const std::shared_ptr<Stream>& stream) {
    stream->capture = capture;
    stream->tips.clear();
    capture->streams.push_back(stream);
}

void leave(Capture& capture) {
    capture.ended = true;
    for (const std::weak_ptr<Stream>& member : capture.streams)
        if (auto stream = member.lock()) {
            stream->capture.reset();
            stream->tips.clear();
        }
    std::erase_if(state().captures,
                  [&](const std::weak_ptr<Capture>& c) { return c.expired() || c.lock().get() == &capture; });
}

void add_tip(std::vector<std::shared_ptr<Node>>& tips, const std::shared_ptr<Node>& node) {
    if (std::find(tips.begin(), tips.end(), node) == tips.end()) tips.push_back(node);
}

// Every tip of every stream must be reachable, backwards, from the tips of the stream that ends the capture.
bool all_joined(const Capture& capture, const Stream& origin) {
    std::set<const Node*> reached;
    std::vector<const Node*> todo;
    for (const auto& tip : origin.tips) todo.push_back(tip.get());
    while (!todo.empty()) {
        const Node* node = todo.back();
        todo.pop_back();
        if (!reached.insert(node).second) continue;
        for (const auto& before : node->after) todo.push_back(before.get());
    }
    for (const std::weak_ptr<Stream>& member : capture.streams) {
        const std::shared_ptr<Stream> stream = member.lock();
        if (!stream || stream.get() == &origin) continue;
        for (const auto& tip : stream->tips)
            if (!reached.count(tip.get())) return false;
    }
    return true;
}

} // namespace

CUresult refuse_and_invalidate(const std::shared_ptr<Capture>& capture, CUresult code) {
    capture->invalid = true;
    return code;
}

// A thread in mode RELAXED may do anything; in THREAD_LOCAL its own captures forbid; in GLOBAL others' global ones too.
CUresult check_unsafe_call() {
    const ThreadState& thread = this_thread();
    if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
    CUresult result = CUDA_SUCCESS;
    for (const std::weak_ptr<Capture>& weak : state().captures) {
        const std::shared_ptr<Capture> capture = weak.lock();
        if (!capture) continue;
        const bool own = capture->thread == thread.number && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        const bool across =
            thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (own || across) result = refuse_and_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    return result;
}

CUresult check_legacy_stream(const Context& context) {
    CUresult result = CUDA_SUCCESS;
    for (const std::weak_ptr<Stream>& member : context.streams) {
        const std::shared_ptr<Stream> stream = member.lock();
        if (!stream || !stream->capture || (stream->flags & CU_STREAM_NON_BLOCKING)) continue;
        result = refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    return result;
}

bool legacy_waits_for_capture(const Context& context) {
    for (const std::weak_ptr<Stream>& member : context.streams)
        if (auto stream = member.lock(); stream && stream->capture && !(stream->flags & CU_STREAM_NON_BLOCKING))
            return true;
    return false;
}

bool any_capture_in(const Context& context) {
    for (const std::weak_ptr<Stream>& member : context.streams)
        if (auto stream = member.lock(); stream && stream->capture) return true;
    return false;
}

CUresult capture_work(const std::shared_ptr<Stream>& stream, Work work) {
    Capture& capture = *stream->capture;
    if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (std::holds_alternative<FreeWork>(work)) {
        remark("free nodes in graphs are not implemented");
        return refuse_and_invalidate(stream->capture, CUDA_ERROR_NOT_SUPPORTED);
    }
    const auto* kernel = std::get_if<KernelWork>(&work);
    const bool overlaps = kernel && kernel->programmatic && stream->tips.size() == 1 &&
                          std::holds_alternative<KernelWork>(stream->tips[0]->work);
    stream->tips = {add_node(*capture.graph, std::move(work), stream->tips)};
    stream->tips[0]->overlaps = overlaps;
    return CUDA_SUCCESS;
}

CUresult capture_wait(const std::shared_ptr<Stream>& stream, const Event& event) {
    if (stream->capture && stream->capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!event.capture && !event.last) return CUDA_SUCCESS; // never recorded: nothing to wait for
    if (!event.capture) return refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (event.capture->ended) return CUDA_ERROR_INVALID_VALUE;
    if (event.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->legacy) return refuse_and_invalidate(event.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!stream->capture) join(event.capture, stream);
    if (stream->capture != event.capture) {
        refuse_and_invalidate(event.capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        return refuse_and_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    for (const auto& tip : event.tips) add_tip(stream->tips, tip);
    return CUDA_SUCCESS;
}

namespace {

CUresult info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
              const CUgraphEdgeData** edges, size_t* count) {
    if (!status) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->legacy && legacy_waits_for_capture(*stream->context.lock())) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream->capture) return CUDA_SUCCESS;
    Capture& capture = *stream->capture;
    *status = capture.invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (capture.invalid) return CUDA_SUCCESS;
    capture.listed.clear();
    for (const auto& tip : stream->tips) capture.listed.push_back(tip->handle);
    if (id) *id = capture.id;
    if (graph) *graph = capture.graph_handle;
    if (nodes) *nodes = capture.listed.data();
    if (edges) *edges = nullptr; // plain edges
    if (count) *count = capture.listed.size();
    return CUDA_SUCCESS;
}

} // namespace
} // namespace emu::driver

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    ENTER(cuStreamBeginCapture_v2, NEED_INIT);
    static uint64_t ids = 0;
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    if (stream->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    auto capture = std::make_shared<Capture>();
    capture->id = ++ids;
    capture->mode = mode;
    capture->thread = this_thread().number;
    capture->graph = std::make_shared<Graph>();
    capture->graph_handle = s.graphs.add(capture->graph);
    capture->origin = stream;
    join(capture, stream);
    s.captures.push_back(capture);
    return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
    ENTER(cuStreamEndCapture, NEED_INIT);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    *graph = nullptr;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(handle, stream)) return refusal;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin.lock() != stream) return refuse_and_invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    const bool wrong_thread =
        capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread().number;
    const CUresult result = wrong_thread                     ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
                            : capture->invalid               ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                            : !all_joined(*capture, *stream) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                                             : CUDA_SUCCESS;
    leave(*capture);
    if (result == CUDA_SUCCESS) *graph = capture->graph_handle;
    else remove_graph(capture->graph_handle);
    return result;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    ENTER(cuStreamIsCapturing, NEED_INIT);
    return info(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, size_t* count) {
    ENTER(cuStreamGetCaptureInfo_v2, NEED_INIT);
    return info(handle, status, id, graph, nodes, nullptr, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
    ENTER(cuStreamGetCaptureInfo_v3, NEED_INIT);
    return info(handle, status, id, graph, nodes, edges, count);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    ENTER(cuThreadExchangeStreamCaptureMode, NEED_INIT);
    if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, this_thread().capture_mode);
    return CUDA_SUCCESS;
}

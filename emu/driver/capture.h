// SPDX-License-Identifier: Apache-2.0
// Graphs, and stream capture, which builds them. The rules of capture live here and in capture.cpp only.
//
//   begin(s) ─ s.tips = {}          work on s: node(deps = s.tips), s.tips = {node}
//   record(e, s): e.tips = s.tips   wait(t, e): t joins the capture, t.tips += e.tips
//   end(s): every other stream's tips must be behind s's tips, else the capture is unjoined
#pragma once

#include "emu/driver/state.h"

namespace emu::driver {

struct Node {
    CUgraphNode handle = nullptr;
    Work work;
    std::vector<std::shared_ptr<Node>> after;
    bool overlaps = false; // `after` is one kernel, and a programmatic edge leads from it
};

struct Graph {
    std::vector<std::shared_ptr<Node>> nodes; // each after its dependencies
};

struct ExecNode {
    Work work;
    std::vector<size_t> after; // positions in GraphExec::nodes
    bool overlaps = false;     // as Node's
    CUgraphNode origin = nullptr;
};
struct GraphExec {
    std::vector<ExecNode> nodes;
    std::shared_ptr<Op> last; // launches of one executable graph follow each other
};

struct Capture {
    uint64_t id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    uint64_t thread = 0; // the host thread that began it
    bool invalid = false;
    bool ended = false; // events recorded in it stand for nothing any more
    CUgraph graph_handle = nullptr;
    std::shared_ptr<Graph> graph;
    std::weak_ptr<Stream> origin;
    std::vector<std::weak_ptr<Stream>> streams;
    std::vector<CUgraphNode> listed; // what cuStreamGetCaptureInfo pointed the caller at
};

CUgraphNodeType type_of(const Work& work);
std::shared_ptr<Node> add_node(Graph& graph, Work work, std::vector<std::shared_ptr<Node>> after);
void remove_graph(CUgraph handle);

// Refused calls while some stream captures (with the capture invalidated), else CUDA_SUCCESS.
CUresult check_unsafe_call();
CUresult check_legacy_stream(const Context& context); // work on it would depend on capturing streams
CUresult refuse_and_invalidate(const std::shared_ptr<Capture>& capture, CUresult code);
bool legacy_waits_for_capture(const Context& context); // some of its blocking streams capture
bool any_capture_in(const Context& context);
// The stream is capturing: turn the work into a node.
CUresult capture_work(const std::shared_ptr<Stream>& stream, Work work);
CUresult capture_wait(const std::shared_ptr<Stream>& stream, const Event& event);

} // namespace emu::driver

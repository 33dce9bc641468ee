// SPDX-License-Identifier: Apache-2.0
// Graphs made by hand, and questions about graphs. A captured graph is the same thing: nodes of Work.
#include "emu/driver/call.h"
#include "emu/driver/copy_box.h"
#include "emu/driver/launch.h"

#include <algorithm>

using namespace emu::driver;

namespace emu::driver {

CUgraphNodeType type_of(const Work& work) {
    if (std::holds_alternative<KernelWork>(work)) return CU_GRAPH_NODE_TYPE_KERNEL;
    if (std::holds_alternative<CopyWork>(work)) return CU_GRAPH_NODE_TYPE_MEMCPY;
    if (std::holds_alternative<FillWork>(work)) return CU_GRAPH_NODE_TYPE_MEMSET;
    if (std::holds_alternative<HostWork>(work)) return CU_GRAPH_NODE_TYPE_HOST;
    if (std::holds_alternative<RecordWork>(work)) return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    if (std::holds_alternative<WaitWork>(work)) return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    return CU_GRAPH_NODE_TYPE_EMPTY;
}

std::shared_ptr<Node> add_node(Graph& graph, Work work, std::vector<std::shared_ptr<Node>> after) {
    auto node = std::make_shared<Node>();
    node->work = std::move(work);
    node->after = std::move(after);
    node->handle = state().nodes.add(node);
    graph.nodes.push_back(node);
    return node;
}

void remove_graph(CUgraph handle) {
    State& s = state();
    const std::shared_ptr<Graph> graph = s.graphs.find(handle);
    if (!graph) return;
    for (const auto& node : graph->nodes) s.nodes.remove(node->handle);
    s.graphs.remove(handle);
}

namespace {

CUresult add(CUgraphNode* out, CUgraph handle, const CUgraphNode* deps, size_t count, Work work) {
    State& s = state();
    const std::shared_ptr<Graph> graph = s.graphs.find(handle);
    if (!out || !graph || (count && !deps)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::shared_ptr<Node>> after;
    for (size_t i = 0; i < count; i++) {
        const std::shared_ptr<Node> node = s.nodes.find(deps[i]);
        if (!node || std::find(graph->nodes.begin(), graph->nodes.end(), node) == graph->nodes.end())
            return CUDA_ERROR_INVALID_VALUE;
        if (std::find(after.begin(), after.end(), node) != after.end()) return CUDA_ERROR_INVALID_VALUE; // named twice
        after.push_back(node);
    }
    *out = add_node(*graph, std::move(work), std::move(after))->handle;
    return CUDA_SUCCESS;
}

// The three list functions share a rule: without an array they say how many there are.
template <class Item, class Put>
CUresult give_list(const std::vector<Item>& items, bool has_room, size_t* count, Put put) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    if (!has_room) {
        *count = items.size();
        return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < *count; i++) put(i, i < items.size() ? items[i] : Item{});
    *count = std::min(*count, items.size());
    return CUDA_SUCCESS;
}

CUresult edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    const std::shared_ptr<Graph> graph = state().graphs.find(handle);
    if (!graph || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    struct Edge {
        CUgraphNode from, to;
        CUgraphEdgeData data;
    };
    std::vector<Edge> all;
    for (const auto& node : graph->nodes) {
        if (node->overlaps && from && !data) return CUDA_ERROR_LOSSY_QUERY;
        const CUgraphEdgeData kind = node->overlaps ? PROGRAMMATIC_EDGE : CUgraphEdgeData{};
        for (const auto& before : node->after) all.push_back({before->handle, node->handle, kind});
    }
    return give_list(all, from != nullptr, count, [&](size_t i, const Edge& edge) {
        from[i] = edge.from;
        to[i] = edge.to;
        if (data) data[i] = edge.data;
    });
}

CUresult node_list(CUgraph handle, CUgraphNode* nodes, size_t* count, bool roots_only) {
    const std::shared_ptr<Graph> graph = state().graphs.find(handle);
    if (!graph) return CUDA_ERROR_INVALID_VALUE;
    std::vector<CUgraphNode> handles;
    for (const auto& node : graph->nodes)
        if (!roots_only || node->after.empty()) handles.push_back(node->handle);
    return give_list(handles, nodes != nullptr, count, [&](size_t i, CUgraphNode node) { nodes[i] = node; });
}

} // namespace
} // namespace emu::driver

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
    ENTER(cuGraphCreate, NEED_INIT);
    if (!graph || flags) return CUDA_ERROR_INVALID_VALUE;
    *graph = s.graphs.add(std::make_shared<Graph>());
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
    ENTER(cuGraphDestroy, NEED_INIT);
    if (!s.graphs.find(graph)) return CUDA_ERROR_INVALID_VALUE;
    remove_graph(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* params) {
    ENTER(cuGraphAddKernelNode_v2, NEED_CONTEXT);
    KernelWork work;
    if (CUresult refusal = kernel_node_work(params, nullptr, work)) return refusal;
    return add(node, graph, deps, count, std::move(work));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                              const CUDA_MEMCPY3D* copy, CUcontext) {
    ENTER(cuGraphAddMemcpyNode, NEED_INIT);
    BoxCopy box{};
    if (CUresult refusal = box_of(copy, box)) return refusal;
    return add(node, graph, deps, count, std::move(box.work));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
    ENTER(cuGraphAddMemsetNode, NEED_INIT);
    if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, deps, count, FillWork{p->dst, p->pitch, p->value, p->elementSize, p->width, p->height});
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
    ENTER(cuGraphAddHostNode, NEED_INIT);
    if (!params || !params->fn) return CUDA_ERROR_INVALID_VALUE;
    return add(node, graph, deps, count, HostWork{params->fn, nullptr, nullptr, params->userData});
}

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count) {
    ENTER(cuGraphAddEmptyNode, NEED_INIT);
    return add(node, graph, deps, count, NoWork{});
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                   CUevent event) {
    ENTER(cuGraphAddEventRecordNode, NEED_INIT);
    const std::shared_ptr<Event> found = s.events.find(event);
    return found ? add(node, graph, deps, count, RecordWork{found}) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                 CUevent event) {
    ENTER(cuGraphAddEventWaitNode, NEED_INIT);
    const std::shared_ptr<Event> found = s.events.find(event);
    return found ? add(node, graph, deps, count, WaitWork{found}) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    ENTER(cuGraphGetNodes, NEED_INIT);
    return node_list(graph, nodes, count, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
    ENTER(cuGraphGetRootNodes, NEED_INIT);
    return node_list(graph, nodes, count, true);
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
    ENTER(cuGraphGetEdges, NEED_INIT);
    return edges(graph, from, to, nullptr, count);
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    ENTER(cuGraphGetEdges_v2, NEED_INIT);
    return edges(graph, from, to, data, count);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
    ENTER(cuGraphNodeGetType, NEED_INIT);
    const std::shared_ptr<Node> found = s.nodes.find(node);
    if (!found || !type) return CUDA_ERROR_INVALID_VALUE;
    *type = type_of(found->work);
    return CUDA_SUCCESS;
}

// SPDX-License-Identifier: Apache-2.0
// Executable graphs. Instantiating freezes the nodes; a launch turns each into an op whose dependencies are
// the graph's, between the stream's previous op and a closing op that becomes the stream's last.
#include "emu/driver/call.h"
#include "emu/driver/launch.h"

#include <unordered_map>

using namespace emu::driver;

namespace emu::driver {

CUresult kernel_node_work(const CUDA_KERNEL_NODE_PARAMS* p, const KernelWork* old, KernelWork& out) {
    if (!p) return CUDA_ERROR_INVALID_VALUE;
    const CUfunction function = p->func ? p->func : reinterpret_cast<CUfunction>(p->kern);
    const std::shared_ptr<Context> context = p->ctx ? state().contexts.find(p->ctx) : current_context();
    return prepare_launch({function,
                           {p->gridDimX, p->gridDimY, p->gridDimZ},
                           {p->blockDimX, p->blockDimY, p->blockDimZ},
                           p->sharedMemBytes,
                           p->kernelParams,
                           p->extra,
                           false,
                           old && old->explicit_cluster ? old->cluster : Dim3{0, 0, 0},
                           old && old->programmatic},
                          context, out);
}

namespace {

std::vector<ExecNode> freeze(const Graph& graph) {
    std::vector<ExecNode> nodes;
    std::unordered_map<const Node*, size_t> position;
    for (const auto& node : graph.nodes) {
        position[node.get()] = nodes.size();
        ExecNode copy{node->work, {}, node->overlaps, node->handle};
        for (const auto& before : node->after) copy.after.push_back(position.at(before.get()));
        nodes.push_back(std::move(copy));
    }
    return nodes;
}

CUresult instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
    State& s = state();
    const std::shared_ptr<Graph> graph = s.graphs.find(handle);
    if (!out || !graph) return CUDA_ERROR_INVALID_VALUE;
    constexpr unsigned long long known = CU_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                         CU_GRAPH_INSTANTIATE_FLAG_UPLOAD | CU_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if (flags & CU_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        remark("graphs launched from the device are not implemented");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (flags & ~known) return CUDA_ERROR_INVALID_VALUE;
    auto exec = std::make_shared<GraphExec>();
    exec->nodes = freeze(*graph);
    *out = s.execs.add(exec);
    return CUDA_SUCCESS;
}

// Operands may move, but not from device to host memory, and boxes of several rows not at all.
bool same_memory(const CopyWork& old, const CopyWork& now) {
    const auto owns = [](const CopySide& side) { return state().memory.owns(side.address); };
    const bool moved = old.from.address != now.from.address || old.to.address != now.to.address;
    return owns(old.from) == owns(now.from) && owns(old.to) == owns(now.to) && old.height == now.height &&
           old.depth == now.depth && !(moved && old.height * old.depth > 1);
}

CUgraphExecUpdateResult compare(const ExecNode& old, const ExecNode& now) {
    if (old.after != now.after || old.overlaps != now.overlaps) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (type_of(old.work) != type_of(now.work)) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    const auto* copy = std::get_if<CopyWork>(&now.work);
    if (copy && !same_memory(std::get<CopyWork>(old.work), *copy)) return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Nodes are matched by their order, which a capture repeats. All of them fit, or nothing changes.
CUgraphExecUpdateResultInfo update(GraphExec& exec, const Graph& graph) {
    std::vector<ExecNode> now = freeze(graph);
    if (now.size() != exec.nodes.size()) return {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr, nullptr};
    for (size_t i = 0; i < now.size(); i++)
        if (const CUgraphExecUpdateResult refusal = compare(exec.nodes[i], now[i]))
            return {refusal, now[i].origin, nullptr};
    for (size_t i = 0; i < now.size(); i++) exec.nodes[i].work = std::move(now[i].work);
    return {CU_GRAPH_EXEC_UPDATE_SUCCESS, nullptr, nullptr};
}

void launch(GraphExec& exec, const std::shared_ptr<Stream>& stream) {
    const std::shared_ptr<Context> context = stream->context.lock();
    Ops entry = predecessors(*stream);
    entry.push_back(exec.last);
    Ops ops;
    for (const ExecNode& node : exec.nodes) {
        Ops after;
        for (size_t before : node.after) after.push_back(ops[before]);
        if (after.empty()) after = entry;
        if (const auto* wait = std::get_if<WaitWork>(&node.work)) after.push_back(wait->event->last);
        ops.push_back(add_op(context, node.work, after));
        if (node.overlaps) ops.back()->overlaps = after[0].get();
        if (const auto* record = std::get_if<RecordWork>(&node.work)) record->event->last = ops.back();
    }
    entry.insert(entry.end(), ops.begin(), ops.end());
    stream->last = exec.last = add_op(context, NoWork{}, entry);
}

} // namespace
} // namespace emu::driver

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
    ENTER(cuGraphInstantiateWithFlags, NEED_INIT);
    return instantiate(exec, graph, flags);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    ENTER(cuGraphInstantiateWithParams, NEED_INIT);
    if (!params) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = instantiate(exec, graph, params->flags);
    params->hErrNode_out = nullptr;
    params->result_out = result ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return result;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle) { // nothing to bring anywhere
    ENTER(cuGraphUpload, NEED_INIT);
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(stream_handle, stream)) return refusal;
    return s.execs.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    ENTER(cuGraphLaunch, NEED_INIT);
    const std::shared_ptr<GraphExec> exec = s.execs.find(handle);
    if (!exec) return CUDA_ERROR_INVALID_VALUE;
    std::shared_ptr<Stream> stream;
    if (CUresult refusal = resolve_stream(stream_handle, stream)) return refusal;
    if (stream->capture) {
        remark("child graphs are not implemented: a graph was launched into a capturing stream");
        return refuse_and_invalidate(stream->capture, CUDA_ERROR_NOT_SUPPORTED);
    }
    if (stream->legacy)
        if (CUresult refusal = check_legacy_stream(*stream->context.lock())) return refusal;
    launch(*exec, stream);
    run_eagerly(lock);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph_handle, CUgraphExecUpdateResultInfo* info) {
    ENTER(cuGraphExecUpdate_v2, NEED_INIT);
    const std::shared_ptr<GraphExec> exec = s.execs.find(handle);
    const std::shared_ptr<Graph> graph = s.graphs.find(graph_handle);
    if (!exec || !graph || !info) return CUDA_ERROR_INVALID_VALUE;
    *info = update(*exec, *graph); // a launch in flight keeps its own copy of the work
    return info->result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) { // a launch in flight keeps its own copy of the work
    ENTER(cuGraphExecDestroy, NEED_INIT);
    return s.execs.remove(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec handle, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
    ENTER(cuGraphExecKernelNodeSetParams_v2, NEED_CONTEXT);
    const std::shared_ptr<GraphExec> exec = s.execs.find(handle);
    if (!exec || !params) return CUDA_ERROR_INVALID_VALUE;
    for (ExecNode& own : exec->nodes) {
        if (own.origin != node || !std::holds_alternative<KernelWork>(own.work)) continue;
        KernelWork work;
        if (CUresult refusal = kernel_node_work(params, &std::get<KernelWork>(own.work), work)) return refusal;
        own.work = std::move(work);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

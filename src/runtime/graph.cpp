// SPDX-License-Identifier: Apache-2.0
// Graphs: what a capture has recorded, made executable, replaced and launched.
#include "runtime/capture.h"
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace spark {
namespace {

// Of CUgraphExecUpdateResult.
const char* reason_of(int result) {
    switch (result) {
    case 2: return "nodes are more or fewer, or wait for others";
    case 3: return "a node is of another kind";
    case 4:
    case 7: return "a kernel cannot take the place of the one that was there";
    case 5: return "a node's parameters changed in a way that needs another graph";
    case 8: return "a node's attributes changed in a way that needs another graph";
    default: return "the driver gives no reason";
    }
}

spark_status not_updated(const Driver& d, void* graph, const GraphUpdateResult& found, Report& report) {
    constexpr size_t MANY = 512;
    void* nodes[MANY];
    size_t count = found.node != nullptr && d.graph_nodes != nullptr ? MANY : 0;
    if (count != 0 && d.graph_nodes(graph, nodes, &count) != DRIVER_OK) count = 0;
    for (size_t i = 0; i < count; ++i) {
        if (nodes[i] != found.node) continue;
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "the capture does not fit the graph at node %zu (from 0): %s; the graph is as it was", i,
                           reason_of(found.result));
    }
    return report.fail(SPARK_ERR_INVALID_CAPTURE, "the capture does not fit the graph: %s; the graph is as it was",
                       reason_of(found.result));
}

} // namespace

spark_status graph_begin(const Context& ctx, const Stream& stream, const spark_graph_desc& desc, Report& report) {
    if (spark_status s = check_flags(desc.flags, 0, report)) return s;
    if (spark_status s = check_reserved(desc.reserved, report)) return s;
    if (desc.mode > SPARK_CAPTURE_RELAXED) {
        return report.fail(SPARK_ERR_INVALID_VALUE, "desc.mode is %u; a spark_capture_mode, 0 to %u, wanted", desc.mode,
                           static_cast<unsigned>(SPARK_CAPTURE_RELAXED));
    }
    return capture_begin(ctx, stream, desc.mode, report);
}

spark_status graph_end(const Context& ctx, const Stream& stream, spark_graph& out, Report& report) {
    return object_make(ctx, Kind::GRAPH, out, report, [&](void*& made) {
        void* graph = nullptr;
        if (spark_status s = capture_end(ctx, stream, graph, report)) return s;
        return within(ctx, "making a graph of a capture", report, [&](const Driver& d) {
            int code = d.graph_instantiate(&made, graph, 0);
            d.graph_destroy(graph);
            return code;
        });
    });
}

spark_status graph_end_update(const Context& ctx, const Stream& stream, const Graph& graph, Report& report) {
    const Driver& d = *ctx.driver;
    if (spark_status s = check_symbol(d.graph_update, DRIVER_NAMES.graph_update, report)) return s;
    void* recorded = nullptr;
    if (spark_status s = capture_end(ctx, stream, recorded, report)) return s;
    spark_status refusal = SPARK_OK;
    spark_status s = within(ctx, "updating a graph", report, [&](const Driver&) {
        GraphUpdateResult found{};
        int code = d.graph_update(graph.native(), recorded, &found);
        if (code == DRIVER_UPDATE_FAILED) {
            refusal = not_updated(d, recorded, found, report);
            report.set_driver_code(code);
            code = DRIVER_OK;
        }
        d.graph_destroy(recorded);
        return code;
    });
    return s != SPARK_OK ? s : refusal;
}

spark_status graph_launch(const Context& ctx, const Graph& graph, const Stream& stream, Report& report) {
    if (spark_status s = refuse_implicit(ctx, stream, "launching a graph", report)) return s;
    if (spark_status s = refuse_nested(ctx, stream, report)) return s;
    return within(ctx, "launching a graph", report,
                  [&](const Driver& d) { return d.graph_launch(graph.native(), stream.native()); });
}

} // namespace spark

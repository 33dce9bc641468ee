// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs.
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace spark {
namespace {

enum : unsigned { STREAM_NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1 };
constexpr spark_stream LAST_NAMED_STREAM = 2;

// "Not ready" is an answer here, not an error.
template <class Query>
spark_status query(const spark_context& ctx, const char* what, uint32_t& done, Report& report, Query&& call) {
    uint32_t answer = 1;
    spark_status s = within(ctx, what, report, [&](const Driver& d) {
        int code = call(d);
        answer = code != DRIVER_NOT_READY;
        return answer != 0 ? code : static_cast<int>(DRIVER_OK);
    });
    if (s == SPARK_OK) done = answer;
    return s;
}

spark_status need(uint64_t handle, const char* name, Report& report) {
    return handle != 0 ? SPARK_OK : report.fail(SPARK_ERR_INVALID_NULL, "%s is 0; a handle wanted", name);
}

} // namespace

spark_status stream_create(const spark_context& ctx, spark_stream& out, Report& report) {
    void* made = nullptr;
    spark_status s = within(ctx, "making a stream", report,
                            [&](const Driver& d) { return d.stream_create(&made, STREAM_NON_BLOCKING); });
    if (s == SPARK_OK) out = integer(made);
    return s;
}

spark_status stream_destroy(const spark_context& ctx, spark_stream stream, Report& report) {
    if (stream <= LAST_NAMED_STREAM) return SPARK_OK;
    return within(ctx, "destroying a stream", report,
                  [&](const Driver& d) { return d.stream_destroy(native(stream)); });
}

spark_status stream_synchronize(const spark_context& ctx, spark_stream stream, Report& report) {
    return within(ctx, "waiting for a stream", report,
                  [&](const Driver& d) { return d.stream_synchronize(native(stream)); });
}

spark_status stream_query(const spark_context& ctx, spark_stream stream, uint32_t& done, Report& report) {
    return query(ctx, "asking a stream", done, report, [&](const Driver& d) { return d.stream_query(native(stream)); });
}

spark_status stream_wait_event(const spark_context& ctx, spark_stream stream, spark_event event, Report& report) {
    if (spark_status s = need(event, "event", report)) return s;
    return within(ctx, "making a stream wait", report,
                  [&](const Driver& d) { return d.stream_wait_event(native(stream), native(event), 0); });
}

spark_status event_create(const spark_context& ctx, spark_event& out, Report& report) {
    void* made = nullptr;
    spark_status s = within(ctx, "making an event", report, [&](const Driver& d) { return d.event_create(&made, 0); });
    if (s == SPARK_OK) out = integer(made);
    return s;
}

spark_status event_destroy(const spark_context& ctx, spark_event event, Report& report) {
    if (event == 0) return SPARK_OK;
    return within(ctx, "destroying an event", report, [&](const Driver& d) { return d.event_destroy(native(event)); });
}

spark_status event_record(const spark_context& ctx, spark_event event, spark_stream stream, Report& report) {
    if (spark_status s = need(event, "event", report)) return s;
    return within(ctx, "recording an event", report,
                  [&](const Driver& d) { return d.event_record(native(event), native(stream)); });
}

spark_status event_synchronize(const spark_context& ctx, spark_event event, Report& report) {
    if (spark_status s = need(event, "event", report)) return s;
    return within(ctx, "waiting for an event", report,
                  [&](const Driver& d) { return d.event_synchronize(native(event)); });
}

spark_status event_query(const spark_context& ctx, spark_event event, uint32_t& done, Report& report) {
    if (spark_status s = need(event, "event", report)) return s;
    return query(ctx, "asking an event", done, report, [&](const Driver& d) { return d.event_query(native(event)); });
}

spark_status event_elapsed(const spark_context& ctx, spark_event begin, spark_event end, float& milliseconds,
                           Report& report) {
    if (spark_status s = need(begin, "begin", report)) return s;
    if (spark_status s = need(end, "end", report)) return s;
    float value = 0;
    spark_status s = within(ctx, "timing two events", report,
                            [&](const Driver& d) { return d.event_elapsed(&value, native(begin), native(end)); });
    if (s == SPARK_OK) milliseconds = value;
    return s;
}

spark_status graph_begin(const spark_context& ctx, spark_stream stream, Report& report) {
    return within(ctx, "beginning a capture", report,
                  [&](const Driver& d) { return d.capture_begin(native(stream), CAPTURE_THREAD_LOCAL); });
}

spark_status graph_end(const spark_context& ctx, spark_stream stream, spark_graph& out, Report& report) {
    void* exec = nullptr;
    spark_status s = within(ctx, "ending a capture", report, [&](const Driver& d) {
        void* graph = nullptr;
        int code = d.capture_end(native(stream), &graph);
        if (code != DRIVER_OK) return code;
        code = d.graph_instantiate(&exec, graph, 0);
        d.graph_destroy(graph);
        return code;
    });
    if (s == SPARK_OK) out = integer(exec);
    return s;
}

spark_status graph_launch(const spark_context& ctx, spark_graph graph, spark_stream stream, Report& report) {
    if (spark_status s = need(graph, "graph", report)) return s;
    return within(ctx, "launching a graph", report,
                  [&](const Driver& d) { return d.graph_launch(native(graph), native(stream)); });
}

spark_status graph_destroy(const spark_context& ctx, spark_graph graph, Report& report) {
    if (graph == 0) return SPARK_OK;
    return within(ctx, "destroying a graph", report,
                  [&](const Driver& d) { return d.graph_exec_destroy(native(graph)); });
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// extern "C": streams, events and graphs.
#include "api/guard.h"
#include "runtime/capture.h"
#include "runtime/memory.h"

using namespace spark;

namespace {

uint64_t integer(const Used& thing) { return reinterpret_cast<uint64_t>(thing.native()); }

template <class Body> spark_status on_event(spark_context* handle, spark_event event, spark_error* err, Body&& body) {
    return on_device(handle, err, [&](Context& ctx, Report& report) {
        Event found;
        spark_status s = found.find(ctx, event, "event", report);
        return s != SPARK_OK ? s : body(ctx, found, report);
    });
}

} // namespace

extern "C" {

spark_status spark_stream_create(spark_context* ctx, const spark_stream_desc* desc, spark_stream* out,
                                 spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_stream_desc wanted;
        if (spark_status s = read_desc(desc, wanted, r)) return s;
        if (spark_status s = need_pointer(out, "out", r)) return s;
        return stream_create(c, wanted, *out, r);
    });
}

// 0, 1 and 2 stand for streams that nobody made, and so ends.
spark_status spark_stream_destroy(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        return stream <= PER_THREAD_STREAM ? SPARK_OK : object_destroy(c, Kind::STREAM, stream, "stream", r);
    });
}

spark_status spark_stream_native(spark_context* ctx, spark_stream stream, uint64_t* native, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context&, const Stream& on, Report& r) {
        spark_status s = need_pointer(native, "native", r);
        if (s == SPARK_OK) *native = integer(on);
        return s;
    });
}

spark_status spark_stream_synchronize(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err,
                     [&](Context& c, const Stream& on, Report& r) { return stream_synchronize(c, on, r); });
}

spark_status spark_stream_query(spark_context* ctx, spark_stream stream, uint32_t* done, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : stream_query(c, on, *done, r);
    });
}

spark_status spark_stream_wait_event(spark_context* ctx, spark_stream stream, spark_event event, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        Event point;
        spark_status s = point.find(c, event, "event", r);
        return s != SPARK_OK ? s : stream_wait_event(c, on, point, r);
    });
}

spark_status spark_event_create(spark_context* ctx, const spark_event_desc* desc, spark_event* out, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_event_desc wanted;
        if (spark_status s = read_desc(desc, wanted, r)) return s;
        if (spark_status s = need_pointer(out, "out", r)) return s;
        return event_create(c, wanted, *out, r);
    });
}

spark_status spark_event_destroy(spark_context* ctx, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        return event == 0 ? SPARK_OK : object_destroy(c, Kind::EVENT, event, "event", r);
    });
}

spark_status spark_event_native(spark_context* ctx, spark_event event, uint64_t* native, spark_error* err) {
    return on_event(ctx, event, err, [&](Context&, const Event& point, Report& r) {
        if (spark_status s = need_pointer(native, "native", r)) return s;
        capture_share(point);
        *native = integer(point);
        return SPARK_OK;
    });
}

spark_status spark_event_record(spark_context* ctx, spark_event event, spark_stream stream, spark_error* err) {
    return on_event(ctx, event, err, [&](Context& c, const Event& point, Report& r) {
        Stream on;
        spark_status s = on.find(c, stream, "stream", r);
        return s != SPARK_OK ? s : event_record(c, point, on, r);
    });
}

spark_status spark_event_synchronize(spark_context* ctx, spark_event event, spark_error* err) {
    return on_event(ctx, event, err,
                    [&](Context& c, const Event& point, Report& r) { return event_synchronize(c, point, r); });
}

spark_status spark_event_query(spark_context* ctx, spark_event event, uint32_t* done, spark_error* err) {
    return on_event(ctx, event, err, [&](Context& c, const Event& point, Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : event_query(c, point, *done, r);
    });
}

spark_status spark_event_elapsed(spark_context* ctx, spark_event begin, spark_event end, float* milliseconds,
                                 spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        Event from, to;
        if (spark_status s = need_pointer(milliseconds, "milliseconds", r)) return s;
        if (spark_status s = from.find(c, begin, "begin", r)) return s;
        if (spark_status s = to.find(c, end, "end", r)) return s;
        return event_elapsed(c, from, to, *milliseconds, r);
    });
}

spark_status spark_graph_begin(spark_context* ctx, spark_stream stream, const spark_graph_desc* desc,
                               spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_graph_desc wanted;
        spark_status s = read_desc(desc, wanted, r);
        return s != SPARK_OK ? s : graph_begin(c, on, wanted, r);
    });
}

spark_status spark_graph_end(spark_context* ctx, spark_stream stream, spark_graph* out, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : graph_end(c, on, *out, r);
    });
}

spark_status spark_graph_end_update(spark_context* ctx, spark_stream stream, spark_graph graph, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        Graph older;
        spark_status s = older.find(c, graph, "graph", r);
        return s != SPARK_OK ? s : graph_end_update(c, on, older, r);
    });
}

spark_status spark_graph_launch(spark_context* ctx, spark_graph graph, spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        Graph recorded;
        spark_status s = recorded.find(c, graph, "graph", r);
        return s != SPARK_OK ? s : graph_launch(c, recorded, on, r);
    });
}

spark_status spark_graph_native(spark_context* ctx, spark_graph graph, uint64_t* native, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        Graph recorded;
        if (spark_status s = need_pointer(native, "native", r)) return s;
        spark_status s = recorded.find(c, graph, "graph", r);
        if (s == SPARK_OK) *native = integer(recorded);
        return s;
    });
}

spark_status spark_graph_destroy(spark_context* ctx, spark_graph graph, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        return graph == 0 ? SPARK_OK : object_destroy(c, Kind::GRAPH, graph, "graph", r);
    });
}

} // extern "C"

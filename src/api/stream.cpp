// SPDX-License-Identifier: Apache-2.0
// extern "C": streams, events and graphs.
#include "api/guard.h"
#include "runtime/memory.h"

using namespace spark;

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

spark_status spark_stream_destroy(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return stream_destroy(c, stream, r); });
}

spark_status spark_stream_synchronize(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return stream_synchronize(c, stream, r); });
}

spark_status spark_stream_query(spark_context* ctx, spark_stream stream, uint32_t* done, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : stream_query(c, stream, *done, r);
    });
}

spark_status spark_stream_wait_event(spark_context* ctx, spark_stream stream, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return stream_wait_event(c, stream, event, r); });
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
    return on_device(ctx, err, [&](Context& c, Report& r) { return event_destroy(c, event, r); });
}

spark_status spark_event_record(spark_context* ctx, spark_event event, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return event_record(c, event, stream, r); });
}

spark_status spark_event_synchronize(spark_context* ctx, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return event_synchronize(c, event, r); });
}

spark_status spark_event_query(spark_context* ctx, spark_event event, uint32_t* done, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : event_query(c, event, *done, r);
    });
}

spark_status spark_event_elapsed(spark_context* ctx, spark_event begin, spark_event end, float* milliseconds,
                                 spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(milliseconds, "milliseconds", r);
        return s != SPARK_OK ? s : event_elapsed(c, begin, end, *milliseconds, r);
    });
}

spark_status spark_graph_begin(spark_context* ctx, spark_stream stream, const spark_graph_desc* desc,
                               spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_graph_desc wanted;
        spark_status s = read_desc(desc, wanted, r);
        return s != SPARK_OK ? s : graph_begin(c, stream, wanted, r);
    });
}

spark_status spark_graph_end_update(spark_context* ctx, spark_stream stream, spark_graph graph, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return graph_end_update(c, stream, graph, r); });
}

spark_status spark_graph_end(spark_context* ctx, spark_stream stream, spark_graph* out, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : graph_end(c, stream, *out, r);
    });
}

spark_status spark_graph_launch(spark_context* ctx, spark_graph graph, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return graph_launch(c, graph, stream, r); });
}

spark_status spark_graph_destroy(spark_context* ctx, spark_graph graph, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return graph_destroy(c, graph, r); });
}

} // extern "C"

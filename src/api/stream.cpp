// SPDX-License-Identifier: Apache-2.0
// extern "C": streams, events and graphs.
#include "api/guard.h"
#include "runtime/memory.h"

using namespace spark;

extern "C" {

spark_status spark_stream_create(spark_context* ctx, spark_stream* out, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : stream_create(*ctx, *out, r);
    });
}

spark_status spark_stream_destroy(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return stream_destroy(*ctx, stream, r); });
}

spark_status spark_stream_synchronize(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return stream_synchronize(*ctx, stream, r); });
}

spark_status spark_stream_query(spark_context* ctx, spark_stream stream, uint32_t* done, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : stream_query(*ctx, stream, *done, r);
    });
}

spark_status spark_stream_wait_event(spark_context* ctx, spark_stream stream, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return stream_wait_event(*ctx, stream, event, r); });
}

spark_status spark_event_create(spark_context* ctx, spark_event* out, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : event_create(*ctx, *out, r);
    });
}

spark_status spark_event_destroy(spark_context* ctx, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return event_destroy(*ctx, event, r); });
}

spark_status spark_event_record(spark_context* ctx, spark_event event, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return event_record(*ctx, event, stream, r); });
}

spark_status spark_event_synchronize(spark_context* ctx, spark_event event, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return event_synchronize(*ctx, event, r); });
}

spark_status spark_event_query(spark_context* ctx, spark_event event, uint32_t* done, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(done, "done", r);
        return s != SPARK_OK ? s : event_query(*ctx, event, *done, r);
    });
}

spark_status spark_event_elapsed(spark_context* ctx, spark_event begin, spark_event end, float* milliseconds,
                                 spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(milliseconds, "milliseconds", r);
        return s != SPARK_OK ? s : event_elapsed(*ctx, begin, end, *milliseconds, r);
    });
}

spark_status spark_graph_begin(spark_context* ctx, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return graph_begin(*ctx, stream, r); });
}

spark_status spark_graph_end(spark_context* ctx, spark_stream stream, spark_graph* out, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : graph_end(*ctx, stream, *out, r);
    });
}

spark_status spark_graph_launch(spark_context* ctx, spark_graph graph, spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return graph_launch(*ctx, graph, stream, r); });
}

spark_status spark_graph_destroy(spark_context* ctx, spark_graph graph, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return graph_destroy(*ctx, graph, r); });
}

} // extern "C"

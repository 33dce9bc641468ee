// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "runtime/capture.h"
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace spark {
namespace {

enum : unsigned { STREAM_NON_BLOCKING = 1, EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2 };
constexpr spark_stream LAST_NAMED_STREAM = 2;

// "Not ready" is an answer here, not an error.
template <class Query>
spark_status query(const Context& ctx, const char* what, uint32_t& done, Report& report, Query&& call) {
    uint32_t answer = 1;
    spark_status s = within(ctx, what, report, [&](const Driver& d) {
        int code = call(d);
        answer = code != DRIVER_NOT_READY;
        return answer != 0 ? code : static_cast<int>(DRIVER_OK);
    });
    if (s == SPARK_OK) done = answer;
    return s;
}

} // namespace

spark_status stream_create(const Context& ctx, const spark_stream_desc& desc, spark_stream& out, Report& report) {
    if (spark_status s = check_flags(desc.flags, SPARK_STREAM_BLOCKING, report)) return s;
    if (spark_status s = check_reserved(desc.reserved, report)) return s;
    int least = 0, most = 0;
    void* made = nullptr;
    spark_status s = within(ctx, "asking for the priorities of streams", report,
                            [&](const Driver& d) { return d.stream_priorities(&least, &most); });
    if (s != SPARK_OK) return s;
    if (desc.priority < most || desc.priority > least) {
        return report.fail(SPARK_ERR_INVALID_VALUE,
                           "desc.priority is %d; %d, the most urgent of this device, to %d wanted", desc.priority, most,
                           least);
    }
    unsigned flags = (desc.flags & SPARK_STREAM_BLOCKING) != 0 ? 0 : STREAM_NON_BLOCKING;
    s = within(ctx, "making a stream", report,
               [&](const Driver& d) { return d.stream_create(&made, flags, desc.priority); });
    if (s == SPARK_OK) out = integer(made);
    return s;
}

spark_status stream_destroy(const Context& ctx, spark_stream stream, Report& report) {
    if (stream <= LAST_NAMED_STREAM) return SPARK_OK;
    capture_forget(ctx, stream);
    return within(ctx, "destroying a stream", report,
                  [&](const Driver& d) { return d.stream_destroy(native(stream)); });
}

spark_status stream_synchronize(const Context& ctx, spark_stream stream, Report& report) {
    if (spark_status s = refuse_on_capturing(ctx, stream, "waiting for a stream", report)) return s;
    return within(ctx, "waiting for a stream", report,
                  [&](const Driver& d) { return d.stream_synchronize(native(stream)); });
}

spark_status stream_query(const Context& ctx, spark_stream stream, uint32_t& done, Report& report) {
    if (spark_status s = refuse_on_capturing(ctx, stream, "asking a stream", report)) return s;
    return query(ctx, "asking a stream", done, report, [&](const Driver& d) { return d.stream_query(native(stream)); });
}

spark_status stream_wait_event(const Context& ctx, spark_stream stream, spark_event event, Report& report) {
    if (spark_status s = check_handle(event, "event", report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "waiting for an event", report)) return s;
    return within(ctx, "making a stream wait", report,
                  [&](const Driver& d) { return d.stream_wait_event(native(stream), native(event), 0); });
}

spark_status event_create(const Context& ctx, const spark_event_desc& desc, spark_event& out, Report& report) {
    if (spark_status s = check_flags(desc.flags, SPARK_EVENT_NO_TIMING | SPARK_EVENT_BLOCKING_SYNC, report)) return s;
    unsigned flags = ((desc.flags & SPARK_EVENT_NO_TIMING) != 0 ? EVENT_DISABLE_TIMING : 0u) |
                     ((desc.flags & SPARK_EVENT_BLOCKING_SYNC) != 0 ? EVENT_BLOCKING_SYNC : 0u);
    void* made = nullptr;
    spark_status s =
        within(ctx, "making an event", report, [&](const Driver& d) { return d.event_create(&made, flags); });
    if (s == SPARK_OK) out = integer(made);
    return s;
}

spark_status event_destroy(const Context& ctx, spark_event event, Report& report) {
    if (event == 0) return SPARK_OK;
    return within(ctx, "destroying an event", report, [&](const Driver& d) { return d.event_destroy(native(event)); });
}

spark_status event_record(const Context& ctx, spark_event event, spark_stream stream, Report& report) {
    if (spark_status s = check_handle(event, "event", report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "recording an event", report)) return s;
    return within(ctx, "recording an event", report,
                  [&](const Driver& d) { return d.event_record(native(event), native(stream)); });
}

spark_status event_synchronize(const Context& ctx, spark_event event, Report& report) {
    if (spark_status s = check_handle(event, "event", report)) return s;
    if (spark_status s = refuse_in_capture(ctx, "waiting for an event", report)) return s;
    return within(ctx, "waiting for an event", report,
                  [&](const Driver& d) { return d.event_synchronize(native(event)); });
}

spark_status event_query(const Context& ctx, spark_event event, uint32_t& done, Report& report) {
    if (spark_status s = check_handle(event, "event", report)) return s;
    if (spark_status s = refuse_in_capture(ctx, "asking an event", report)) return s;
    return query(ctx, "asking an event", done, report, [&](const Driver& d) { return d.event_query(native(event)); });
}

spark_status event_elapsed(const Context& ctx, spark_event begin, spark_event end, float& milliseconds,
                           Report& report) {
    if (spark_status s = check_handle(begin, "begin", report)) return s;
    if (spark_status s = check_handle(end, "end", report)) return s;
    float value = 0;
    bool untimed = false;
    spark_status s = within(ctx, "timing two events", report, [&](const Driver& d) {
        int code = d.event_elapsed(&value, native(begin), native(end));
        untimed = code == DRIVER_INVALID_HANDLE; // which says no more
        return untimed ? static_cast<int>(DRIVER_OK) : code;
    });
    if (untimed) {
        return report.fail(SPARK_ERR_INVALID_VALUE,
                           "begin or end has no time: made with SPARK_EVENT_NO_TIMING, never recorded, or no event");
    }
    if (s == SPARK_OK) milliseconds = value;
    return s;
}

} // namespace spark

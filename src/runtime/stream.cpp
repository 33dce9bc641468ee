// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include "runtime/capture.h"
#include "runtime/memory.h"
#include "runtime/scope.h"

namespace spark {
namespace {

enum : unsigned { STREAM_NON_BLOCKING = 1, EVENT_BLOCKING_SYNC = 1, EVENT_DISABLE_TIMING = 2 };

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
    spark_status s = within(ctx, "asking for the priorities of streams", report,
                            [&](const Driver& d) { return d.stream_priorities(&least, &most); });
    if (s != SPARK_OK) return s;
    if (desc.priority < most || desc.priority > least) {
        return report.fail(SPARK_ERR_INVALID_VALUE,
                           "desc.priority is %d; %d, the most urgent of this device, to %d wanted", desc.priority, most,
                           least);
    }
    unsigned flags = (desc.flags & SPARK_STREAM_BLOCKING) != 0 ? 0u : unsigned{STREAM_NON_BLOCKING};
    return object_make(ctx, Kind::STREAM, out, report, [&](void*& made) {
        return within(ctx, "making a stream", report,
                      [&](const Driver& d) { return d.stream_create(&made, flags, desc.priority); });
    });
}

spark_status stream_synchronize(const Context& ctx, const Stream& stream, Report& report) {
    if (spark_status s = refuse_on_capturing(ctx, stream, "waiting for a stream", report)) return s;
    return within(ctx, "waiting for a stream", report,
                  [&](const Driver& d) { return d.stream_synchronize(stream.native()); });
}

spark_status stream_query(const Context& ctx, const Stream& stream, uint32_t& done, Report& report) {
    if (spark_status s = refuse_on_capturing(ctx, stream, "asking a stream", report)) return s;
    return query(ctx, "asking a stream", done, report,
                 [&](const Driver& d) { return d.stream_query(stream.native()); });
}

spark_status stream_wait_event(const Context& ctx, const Stream& stream, const Event& event, Report& report) {
    if (spark_status s = refuse_implicit(ctx, stream, "waiting for an event", report)) return s;
    if (spark_status s = refuse_outside(ctx, stream, event, report)) return s;
    return within(ctx, "making a stream wait", report,
                  [&](const Driver& d) { return d.stream_wait_event(stream.native(), event.native(), 0); });
}

spark_status event_create(const Context& ctx, const spark_event_desc& desc, spark_event& out, Report& report) {
    if (spark_status s = check_flags(desc.flags, SPARK_EVENT_NO_TIMING | SPARK_EVENT_BLOCKING_SYNC, report)) return s;
    unsigned flags = ((desc.flags & SPARK_EVENT_NO_TIMING) != 0 ? EVENT_DISABLE_TIMING : 0u) |
                     ((desc.flags & SPARK_EVENT_BLOCKING_SYNC) != 0 ? EVENT_BLOCKING_SYNC : 0u);
    return object_make(ctx, Kind::EVENT, out, report, [&](void*& made) {
        return within(ctx, "making an event", report, [&](const Driver& d) { return d.event_create(&made, flags); });
    });
}

spark_status event_record(const Context& ctx, const Event& event, const Stream& stream, Report& report) {
    if (spark_status s = refuse_implicit(ctx, stream, "recording an event", report)) return s;
    return capture_record(ctx, event, stream, report);
}

spark_status event_synchronize(const Context& ctx, const Event& event, Report& report) {
    if (spark_status s = refuse_in_capture(ctx, "waiting for an event", report)) return s;
    if (spark_status s = refuse_captured(ctx, event, "event", "waiting for", report)) return s;
    return within(ctx, "waiting for an event", report,
                  [&](const Driver& d) { return d.event_synchronize(event.native()); });
}

spark_status event_query(const Context& ctx, const Event& event, uint32_t& done, Report& report) {
    if (spark_status s = refuse_in_capture(ctx, "asking an event", report)) return s;
    if (spark_status s = refuse_captured(ctx, event, "event", "asking", report)) return s;
    return query(ctx, "asking an event", done, report, [&](const Driver& d) { return d.event_query(event.native()); });
}

spark_status event_elapsed(const Context& ctx, const Event& begin, const Event& end, float& milliseconds,
                           Report& report) {
    if (spark_status s = refuse_captured(ctx, begin, "begin", "timing", report)) return s;
    if (spark_status s = refuse_captured(ctx, end, "end", "timing", report)) return s;
    float value = 0;
    bool untimed = false;
    spark_status s = within(ctx, "timing two events", report, [&](const Driver& d) {
        int code = d.event_elapsed(&value, begin.native(), end.native());
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

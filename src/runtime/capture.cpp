// SPDX-License-Identifier: Apache-2.0
// The table of captures in progress, and what they forbid.
#include "runtime/capture.h"

#include "core/locked.h"
#include "runtime/scope.h"

namespace spark {
namespace {

constexpr uint32_t MAX_CAPTURES = 256;
constexpr const char* MODES[] = {"the thread that began it", "all threads"};

constexpr const char ENDED[] =
    "%s 0x%llx was recorded in a capture that has ended, and is no point in time: record it again";

struct Capture {
    void* cu_context; // nullptr = the place is free
    void* stream;     // the driver's
    uint64_t handle;  // the caller's
    pthread_t thread; // that began it
    uint32_t mode;    // spark_capture_mode
    uint64_t id;      // the driver's; 0 = it does not tell
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
constinit Capture captures[MAX_CAPTURES]{};
constinit std::atomic<uint32_t> in_progress{0};

unsigned long long number(const Capture& capture) { return capture.handle; }

bool own(const Capture& capture) { return pthread_equal(capture.thread, pthread_self()) != 0; }

template <class Is> Capture* find(Is&& is) {
    for (Capture& capture : captures) {
        if (capture.cu_context != nullptr && is(capture)) return &capture;
    }
    return nullptr;
}

// The per-thread stream of each thread has the same number.
Capture* find_on(const Context& ctx, void* stream) {
    return find([&](const Capture& c) {
        return c.cu_context == ctx.cu_context && c.stream == stream && (c.handle != PER_THREAD_STREAM || own(c));
    });
}

Capture* find_id(const Context& ctx, uint64_t id) {
    if (id == 0) return nullptr;
    return find([&](const Capture& c) { return c.cu_context == ctx.cu_context && c.id == id; });
}

Capture* free_place() {
    for (Capture& capture : captures) {
        if (capture.cu_context == nullptr) return &capture;
    }
    return nullptr;
}

void forget(Capture& capture) {
    capture.cu_context = nullptr;
    in_progress.fetch_sub(1, std::memory_order_relaxed);
}

// Whether the stream captures; for the legacy default stream, whether one captures that it would wait for.
spark_status is_capturing(const Context& ctx, const Stream& stream, bool& answer, Report& report) {
    return within(ctx, "asking whether a stream is capturing", report, [&](const Driver& d) {
        int status = 0;
        int code = d.stream_capturing(stream.native(), &status);
        answer = status != 0 || code == DRIVER_CAPTURE_IMPLICIT;
        return code == DRIVER_CAPTURE_IMPLICIT ? static_cast<int>(DRIVER_OK) : code;
    });
}

uint64_t id_of(const Driver& d, const Stream& stream) {
    int status = 0;
    uint64_t id = 0;
    if (d.capture_info == nullptr) return 0;
    return d.capture_info(stream.native(), &status, &id, nullptr, nullptr, nullptr) == DRIVER_OK ? id : 0;
}

uint64_t recorded(const Event& event) {
    return event.slot() != nullptr ? event.slot()->recorded_in.load() : uint64_t{SHARED};
}

bool is_unknown(uint64_t recorded) { return recorded == NEVER || recorded == BY_OTHERS || recorded == SHARED; }

// Refuses an end that the driver would answer by giving up the capture.
spark_status check_end(const Context& ctx, const Stream& stream, Report& report) {
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing || stream.handle() < PER_THREAD_STREAM) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE, "stream 0x%llx is not capturing; spark_graph_begin begins that",
                           stream.handle());
    }
    const Locked lock(mutex);
    if (const Capture* here = find_on(ctx, stream.native())) {
        if (here->mode == SPARK_CAPTURE_RELAXED || own(*here)) return SPARK_OK;
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "the capture on stream 0x%llx was begun by another thread: end it there, or begin it "
                           "with SPARK_CAPTURE_RELAXED",
                           stream.handle());
    }
    uint64_t id = 0;
    within(ctx, "", report, [&](const Driver& d) { return id = id_of(d, stream), static_cast<int>(DRIVER_OK); });
    const Capture* joined = find_id(ctx, id);
    if (joined == nullptr) return SPARK_OK; // a capture that others began
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx has joined a capture that began on stream 0x%llx: end it there", stream.handle(),
                       number(*joined));
}

} // namespace

spark_status refuse_in_capture(const Context&, const char* what, Report& report) {
    if (in_progress.load(std::memory_order_relaxed) == 0) return SPARK_OK;
    const Locked lock(mutex);
    const Capture* forbids = find([](const Capture& c) {
        return c.mode == SPARK_CAPTURE_GLOBAL || (c.mode == SPARK_CAPTURE_THREAD_LOCAL && own(c));
    });
    if (forbids == nullptr) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx is capturing, which forbids %s to %s: do it before spark_graph_begin or after "
                       "spark_graph_end; the capture goes on",
                       number(*forbids), what, MODES[forbids->mode]);
}

spark_status refuse_on_capturing(const Context& ctx, const Stream& stream, const char* what, Report& report) {
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing) return refuse_in_capture(ctx, what, report);
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "%s 0x%llx is capturing, and %s cannot be recorded: do it before spark_graph_begin or after "
                       "spark_graph_end; the capture goes on",
                       stream.handle() < PER_THREAD_STREAM ? "a stream that waits for the default stream" : "stream",
                       stream.handle(), what);
}

spark_status refuse_implicit(const Context& ctx, const Stream& stream, const char* what, Report& report) {
    if (stream.handle() >= PER_THREAD_STREAM || in_progress.load(std::memory_order_relaxed) == 0) return SPARK_OK;
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "a stream made with SPARK_STREAM_BLOCKING is capturing, and %s on the default stream would wait "
                       "for it: use another stream; the capture goes on",
                       what);
}

spark_status refuse_nested(const Context& ctx, const Stream& stream, Report& report) {
    bool capturing = false;
    if (!ctx.driver->emulated) return SPARK_OK;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx is capturing, and the emulator cannot record one graph in another; the capture "
                       "goes on",
                       stream.handle());
}

spark_status capture_begin(const Context& ctx, const Stream& stream, uint32_t mode, Report& report) {
    constexpr int DRIVER_MODES[] = {1, 0, 2}; // of spark_capture_mode
    bool capturing = false;
    if (stream.handle() < PER_THREAD_STREAM) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "stream is %llu, the legacy default stream, which cannot capture; a stream of "
                           "spark_stream_create wanted",
                           stream.handle());
    }
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (capturing) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE, "stream 0x%llx is capturing already; the capture goes on",
                           stream.handle());
    }
    const Locked lock(mutex);
    Capture* place = free_place();
    if (place == nullptr) {
        return report.fail(SPARK_ERR_UNSUPPORTED, "%u streams are capturing; at most %u may", MAX_CAPTURES,
                           MAX_CAPTURES);
    }
    uint64_t id = 0;
    spark_status s = within(ctx, "beginning a capture", report, [&](const Driver& d) {
        int code = d.capture_begin(stream.native(), DRIVER_MODES[mode]);
        if (code == DRIVER_OK) id = id_of(d, stream);
        return code;
    });
    if (s != SPARK_OK) return s;
    if (Capture* stale = find_on(ctx, stream.native())) forget(*stale); // ended by others
    *place = {ctx.cu_context, stream.native(), stream.handle(), pthread_self(), mode, id};
    in_progress.fetch_add(1, std::memory_order_relaxed);
    return SPARK_OK;
}

spark_status capture_end(const Context& ctx, const Stream& stream, void*& graph, Report& report) {
    if (spark_status s = check_end(ctx, stream, report)) return s;
    spark_status s = within(ctx, "ending a capture", report,
                            [&](const Driver& d) { return d.capture_end(stream.native(), &graph); });
    capture_forget(ctx, stream.native()); // a capture that fails here has ended too
    return s;
}

void capture_forget(const Context& ctx, void* native_stream) {
    if (in_progress.load(std::memory_order_relaxed) == 0) return;
    const Locked lock(mutex);
    if (Capture* ended = find_on(ctx, native_stream)) forget(*ended);
}

spark_status capture_record(const Context& ctx, const Event& event, const Stream& stream, Report& report) {
    uint64_t id = 0;
    spark_status s = within(ctx, "recording an event", report, [&](const Driver& d) {
        id = id_of(d, stream);
        return d.event_record(event.native(), stream.native());
    });
    if (s != SPARK_OK || recorded(event) == SHARED) return s;
    uint64_t where = OUTSIDE;
    if (id != 0) {
        const Locked lock(mutex);
        where = find_id(ctx, id) != nullptr ? id : uint64_t{BY_OTHERS};
    }
    event.slot()->recorded_in.store(where);
    return SPARK_OK;
}

void capture_share(const Event& event) {
    if (event.slot() != nullptr) event.slot()->recorded_in.store(SHARED);
}

spark_status refuse_outside(const Context& ctx, const Stream& stream, const Event& event, Report& report) {
    const uint64_t where = recorded(event);
    if (is_unknown(where)) return SPARK_OK;
    uint64_t id = 0;
    spark_status s = within(ctx, "asking whether a stream is capturing", report,
                            [&](const Driver& d) { return id = id_of(d, stream), static_cast<int>(DRIVER_OK); });
    if (s != SPARK_OK || where == id) return s;
    const Locked lock(mutex);
    const bool elsewhere = where != OUTSIDE;
    if (id == 0 && !elsewhere) return SPARK_OK; // waits
    if (id == 0) {
        const Capture* live = find_id(ctx, where);
        if (live == nullptr) return report.fail(SPARK_ERR_INVALID_CAPTURE, ENDED, "event", event.handle());
        if (stream.handle() >= PER_THREAD_STREAM) return SPARK_OK; // joins the capture
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "stream is %llu, the legacy default stream, which cannot join the capture on stream "
                           "0x%llx, where event 0x%llx was recorded: use another stream; the capture goes on",
                           stream.handle(), number(*live), event.handle());
    }
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx is capturing, and event 0x%llx was recorded %s: record it on a stream of the "
                       "capture, or wait for it before spark_graph_begin; the capture goes on",
                       stream.handle(), event.handle(), elsewhere ? "in another capture" : "outside of the capture");
}

spark_status refuse_captured(const Context& ctx, const Event& event, const char* name, const char* what,
                             Report& report) {
    const uint64_t where = recorded(event);
    if (is_unknown(where) || where == OUTSIDE) return SPARK_OK;
    const Locked lock(mutex);
    const Capture* capture = find_id(ctx, where);
    if (capture == nullptr) return report.fail(SPARK_ERR_INVALID_CAPTURE, ENDED, name, event.handle());
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "%s 0x%llx was recorded in the capture on stream 0x%llx, and is no point in time that "
                       "%s an event could tell of; the capture goes on",
                       name, event.handle(), number(*capture), what);
}

} // namespace spark

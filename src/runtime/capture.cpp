// SPDX-License-Identifier: Apache-2.0
// The table of captures in progress, and what they forbid.
#include "runtime/capture.h"

#include "runtime/scope.h"

namespace spark {
namespace {

constexpr spark_stream PER_THREAD_STREAM = 2;
constexpr uint32_t MAX_CAPTURES = 256;
constexpr const char* MODES[] = {"the thread that began it", "all threads"};

struct Capture {
    void* cu_context; // nullptr = the place is free
    spark_stream stream;
    pthread_t thread; // that began it
    uint32_t mode;    // spark_capture_mode
    uint64_t id;      // the driver's; 0 = it does not tell
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
constinit Capture captures[MAX_CAPTURES]{};
constinit std::atomic<uint32_t> in_progress{0};

class Locked {
public:
    Locked() { pthread_mutex_lock(&mutex); }
    ~Locked() { pthread_mutex_unlock(&mutex); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
};

bool own(const Capture& capture) { return pthread_equal(capture.thread, pthread_self()) != 0; }

template <class Is> Capture* find(Is&& is) {
    for (Capture& capture : captures) {
        if (capture.cu_context != nullptr && is(capture)) return &capture;
    }
    return nullptr;
}

// The per-thread stream of each thread has the same number.
Capture* find_on(const Context& ctx, spark_stream stream) {
    return find([&](const Capture& c) {
        return c.cu_context == ctx.cu_context && c.stream == stream && (stream != PER_THREAD_STREAM || own(c));
    });
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

unsigned long long number(spark_stream stream) { return stream; }

// Whether the stream captures; for the legacy default stream, whether one captures that it would wait for.
spark_status is_capturing(const Context& ctx, spark_stream stream, bool& answer, Report& report) {
    return within(ctx, "asking whether a stream is capturing", report, [&](const Driver& d) {
        int status = 0;
        int code = d.stream_capturing(native(stream), &status);
        answer = status != 0 || code == DRIVER_CAPTURE_IMPLICIT;
        return code == DRIVER_CAPTURE_IMPLICIT ? static_cast<int>(DRIVER_OK) : code;
    });
}

uint64_t id_of(const Driver& d, spark_stream stream) {
    int status = 0;
    uint64_t id = 0;
    if (d.capture_info == nullptr) return 0;
    return d.capture_info(native(stream), &status, &id, nullptr, nullptr, nullptr) == DRIVER_OK ? id : 0;
}

// Refuses an end that the driver would answer by giving up the capture.
spark_status check_end(const Context& ctx, spark_stream stream, Report& report) {
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing || stream < PER_THREAD_STREAM) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE, "stream 0x%llx is not capturing; spark_graph_begin begins that",
                           number(stream));
    }
    Locked lock;
    if (const Capture* here = find_on(ctx, stream)) {
        if (here->mode == SPARK_CAPTURE_RELAXED || own(*here)) return SPARK_OK;
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "the capture on stream 0x%llx was begun by another thread: end it there, or begin it "
                           "with SPARK_CAPTURE_RELAXED",
                           number(stream));
    }
    uint64_t id = 0;
    within(ctx, "", report, [&](const Driver& d) { return id = id_of(d, stream), static_cast<int>(DRIVER_OK); });
    const Capture* joined =
        id == 0 ? nullptr : find([&](const Capture& c) { return c.cu_context == ctx.cu_context && c.id == id; });
    if (joined == nullptr) return SPARK_OK; // a capture that others began
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx has joined a capture that began on stream 0x%llx: end it there", number(stream),
                       number(joined->stream));
}

} // namespace

spark_status refuse_in_capture(const Context&, const char* what, Report& report) {
    if (in_progress.load(std::memory_order_relaxed) == 0) return SPARK_OK;
    Locked lock;
    const Capture* forbids = find([](const Capture& c) {
        return c.mode == SPARK_CAPTURE_GLOBAL || (c.mode == SPARK_CAPTURE_THREAD_LOCAL && own(c));
    });
    if (forbids == nullptr) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "stream 0x%llx is capturing, which forbids %s to %s: do it before spark_graph_begin or after "
                       "spark_graph_end; the capture goes on",
                       number(forbids->stream), what, MODES[forbids->mode]);
}

spark_status refuse_on_capturing(const Context& ctx, spark_stream stream, const char* what, Report& report) {
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing) return refuse_in_capture(ctx, what, report);
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "%s 0x%llx is capturing, and %s cannot be recorded: do it before spark_graph_begin or after "
                       "spark_graph_end; the capture goes on",
                       stream < PER_THREAD_STREAM ? "a stream that waits for the default stream" : "stream",
                       number(stream), what);
}

spark_status refuse_implicit(const Context& ctx, spark_stream stream, const char* what, Report& report) {
    if (stream >= PER_THREAD_STREAM || in_progress.load(std::memory_order_relaxed) == 0) return SPARK_OK;
    bool capturing = false;
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (!capturing) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_CAPTURE,
                       "a stream made with SPARK_STREAM_BLOCKING is capturing, and %s on the default stream would wait "
                       "for it: use another stream; the capture goes on",
                       what);
}

spark_status capture_begin(const Context& ctx, spark_stream stream, uint32_t mode, Report& report) {
    constexpr int DRIVER_MODES[] = {1, 0, 2}; // of spark_capture_mode
    bool capturing = false;
    if (stream < PER_THREAD_STREAM) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE,
                           "stream is %llu, the legacy default stream, which cannot capture; a stream of "
                           "spark_stream_create wanted",
                           number(stream));
    }
    if (spark_status s = is_capturing(ctx, stream, capturing, report)) return s;
    if (capturing) {
        return report.fail(SPARK_ERR_INVALID_CAPTURE, "stream 0x%llx is capturing already; the capture goes on",
                           number(stream));
    }
    Locked lock;
    Capture* place = free_place();
    if (place == nullptr) {
        return report.fail(SPARK_ERR_UNSUPPORTED, "%u streams are capturing; at most %u may", MAX_CAPTURES,
                           MAX_CAPTURES);
    }
    uint64_t id = 0;
    spark_status s = within(ctx, "beginning a capture", report, [&](const Driver& d) {
        int code = d.capture_begin(native(stream), DRIVER_MODES[mode]);
        if (code == DRIVER_OK) id = id_of(d, stream);
        return code;
    });
    if (s != SPARK_OK) return s;
    if (Capture* stale = find_on(ctx, stream)) forget(*stale); // ended by others
    *place = {ctx.cu_context, stream, pthread_self(), mode, id};
    in_progress.fetch_add(1, std::memory_order_relaxed);
    return SPARK_OK;
}

spark_status capture_end(const Context& ctx, spark_stream stream, void*& graph, Report& report) {
    if (spark_status s = check_end(ctx, stream, report)) return s;
    spark_status s =
        within(ctx, "ending a capture", report, [&](const Driver& d) { return d.capture_end(native(stream), &graph); });
    capture_forget(ctx, stream); // a capture that fails here has ended too
    return s;
}

void capture_forget(const Context& ctx, spark_stream stream) {
    if (in_progress.load(std::memory_order_relaxed) == 0) return;
    Locked lock;
    if (Capture* ended = find_on(ctx, stream)) forget(*ended);
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Streams, events and graphs; spark.hpp includes it.
#ifndef SPARK_STREAM_HPP_
#define SPARK_STREAM_HPP_

#include <spark_core.hpp>

namespace spark {

class stream;

/// A point in the work of a stream; before it is recorded it counts as done.
class event : public owner<spark_event_destroy> {
public:
    /// `flags`: of spark_event_flag. With SPARK_EVENT_NO_TIMING it is cheaper, and `since` refuses it.
    explicit event(const context& ctx, std::uint32_t flags = SPARK_EVENT_NONE)
        : owner(ctx, [&](spark_context* on, spark_event* out, spark_error* err) {
              const spark_event_desc desc{sizeof desc, flags};
              return spark_event_create(on, &desc, out, err);
          }) {}
    inline void record(const stream& on);
    /// The CUevent as an integer, for other software. It stays this object's.
    std::uint64_t native() const { return native_of(spark_event_native); }
    void synchronize() const {
        check([&](spark_error* err) { return spark_event_synchronize(ctx().get(), get(), err); });
    }
    bool is_done() const {
        std::uint32_t done = 0;
        check([&](spark_error* err) { return spark_event_query(ctx().get(), get(), &done, err); });
        return done != 0;
    }
    /// Milliseconds from `begin` to this one; both have been recorded and are done.
    float since(const event& begin) const {
        float took = 0;
        check([&](spark_error* err) { return spark_event_elapsed(ctx().get(), begin.get(), get(), &took, err); });
        return took;
    }
};

/// Recorded work. The memory that it uses must outlive it.
class graph : public owner<spark_graph_destroy> {
public:
    inline void launch(const stream& on) const;
    /// The CUgraphExec as an integer, for other software. It stays this object's.
    std::uint64_t native() const { return native_of(spark_graph_native); }
    /// Records what `record()` enqueues on a stream and gives it to this graph, for later launches: cheaper than
    /// another graph. False where nodes or their order are not as they were (the log tells which): the graph stays as
    /// it was. Launches that are under way still use the memory of before.
    template <class Record>
    bool update(const stream& on, Record&& record, spark_capture_mode mode = SPARK_CAPTURE_THREAD_LOCAL) const;

private:
    friend class stream;
    graph(const context& ctx, spark_graph raw) : owner(ctx, raw, true) {}
};

/// A queue of work on the device.
class stream : public owner<spark_stream_destroy> {
public:
    /// `priority`: below 0 is more urgent; beyond what the device has it is refused, with the range in the sentence.
    /// `flags`: of spark_stream_flag.
    explicit stream(const context& ctx, std::int32_t priority = 0, std::uint32_t flags = SPARK_STREAM_NONE)
        : owner(ctx, [&](spark_context* on, spark_stream* out, spark_error* err) {
              const spark_stream_desc desc{sizeof desc, flags, priority, 0};
              return spark_stream_create(on, &desc, out, err);
          }) {}
    /// A CUstream of somebody else's, as an integer; 0 is the legacy default stream. It stays theirs.
    static stream borrow(const context& ctx, spark_stream raw) { return stream(ctx, raw); }

    /// The CUstream as an integer, for other software. It stays this object's, or whose it is.
    std::uint64_t native() const { return native_of(spark_stream_native); }
    void synchronize() const {
        check([&](spark_error* err) { return spark_stream_synchronize(ctx().get(), get(), err); });
    }
    bool is_done() const {
        std::uint32_t done = 0;
        check([&](spark_error* err) { return spark_stream_query(ctx().get(), get(), &done, err); });
        return done != 0;
    }
    void wait(const event& point) const {
        check([&](spark_error* err) { return spark_stream_wait_event(ctx().get(), get(), point.get(), err); });
    }
    /// Records what `record()` enqueues on this stream, instead of running it. Prepare operators before: a capture
    /// loads no code. `mode`: which threads may meanwhile not do what cannot be recorded, such as allocating. If it
    /// throws, the capture ends and nothing is kept.
    template <class Record> graph capture(Record&& record, spark_capture_mode mode = SPARK_CAPTURE_THREAD_LOCAL) const {
        begin(std::forward<Record>(record), mode);
        spark_graph made = 0;
        check([&](spark_error* err) { return spark_graph_end(ctx().get(), get(), &made, err); });
        return graph(ctx(), made);
    }

private:
    friend class graph;
    stream(const context& ctx, spark_stream raw) : owner(ctx, raw, false) {}
    /// Begins a capture and fills it; it is still to be ended.
    template <class Record> void begin(Record&& record, spark_capture_mode mode) const {
        const spark_graph_desc desc{sizeof desc, 0, static_cast<std::uint32_t>(mode), 0};
        check([&](spark_error* err) { return spark_graph_begin(ctx().get(), get(), &desc, err); });
        try {
            record();
        } catch (...) {
            discard();
            throw;
        }
    }
    /// Ends a capture, if there is one, and keeps nothing.
    void discard() const noexcept {
        spark_graph unwanted = 0;
        if (spark_graph_end(ctx().get(), get(), &unwanted, nullptr) == SPARK_OK)
            spark_graph_destroy(ctx().get(), unwanted, nullptr);
    }
};

inline void event::record(const stream& on) {
    check([&](spark_error* err) { return spark_event_record(ctx().get(), get(), on.get(), err); });
}

inline void graph::launch(const stream& on) const {
    check([&](spark_error* err) { return spark_graph_launch(ctx().get(), get(), on.get(), err); });
}

template <class Record> bool graph::update(const stream& on, Record&& record, spark_capture_mode mode) const {
    on.begin(std::forward<Record>(record), mode);
    try {
        check([&](spark_error* err) { return spark_graph_end_update(ctx().get(), on.get(), get(), err); });
        return true;
    } catch (const error& refused) {
        on.discard();                     // what is refused before the driver is asked goes on capturing
        constexpr int DOES_NOT_FIT = 910; // the driver's answer; other ends of a capture have the same status
        if (refused.driver_code() == DOES_NOT_FIT) return false;
        throw;
    }
}

} // namespace spark

#endif // SPARK_STREAM_HPP_

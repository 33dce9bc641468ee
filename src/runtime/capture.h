// SPDX-License-Identifier: Apache-2.0
// What is not allowed while a stream captures, found out before the driver is asked: it would refuse it too, but give
// up the capture. Captures that spark_graph_begin began are remembered; about others the driver is asked, if it can
// tell.
#pragma once

#include "runtime/objects.h"

namespace spark {

// Refuse `what` ("waiting for an event"), which cannot be recorded. The first is for calls that name no stream, or name
// one that does not capture: does a capture forbid them to this thread? The second looks at the stream too.
spark_status refuse_in_capture(const Context& ctx, const char* what, Report& report);
spark_status refuse_on_capturing(const Context& ctx, const Stream& stream, const char* what, Report& report);

// Refuses work on the legacy default stream while a stream captures that it would wait for.
spark_status refuse_implicit(const Context& ctx, const Stream& stream, const char* what, Report& report);

// Refuses to record one graph in another where the driver cannot: the emulator.
spark_status refuse_nested(const Context& ctx, const Stream& stream, Report& report);

spark_status capture_begin(const Context& ctx, const Stream& stream, uint32_t mode, Report& report);
// Gives the recorded work, to be destroyed by the caller.
spark_status capture_end(const Context& ctx, const Stream& stream, void*& graph, Report& report);
// The stream is being destroyed, and a capture on it ends with it.
void capture_forget(const Context& ctx, void* native_stream);

// Events of this library know where they were recorded last: in a capture, by the driver's number of it, or outside.
// Of other events nothing is known, and the driver is asked.
// So it is where others began the capture, or may record the event too.
enum Recorded : uint64_t { NEVER = 0, OUTSIDE = ~uint64_t{0}, BY_OTHERS = OUTSIDE - 1, SHARED = OUTSIDE - 2 };

// Records the event, and notes where.
spark_status capture_record(const Context& ctx, const Event& event, const Stream& stream, Report& report);
// From here on others may record it too.
void capture_share(const Event& event);
// Refuses to make the stream wait for an event that is outside of its capture.
spark_status refuse_outside(const Context& ctx, const Stream& stream, const Event& event, Report& report);
// Refuses `what` with an event that was recorded in a capture, and so is no point in time.
spark_status refuse_captured(const Context& ctx, const Event& event, const char* name, const char* what,
                             Report& report);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// What is not allowed while a stream captures, found out before the driver is asked: it would refuse it too, but give
// up the capture. Captures that spark_graph_begin began are remembered; about others the driver is asked, if it can
// tell.
#pragma once

#include "runtime/context.h"

namespace spark {

// Refuse `what` ("waiting for an event"), which cannot be recorded. The first is for calls that name no stream, or name
// one that does not capture: does a capture forbid them to this thread? The second looks at the stream too.
spark_status refuse_in_capture(const Context& ctx, const char* what, Report& report);
spark_status refuse_on_capturing(const Context& ctx, spark_stream stream, const char* what, Report& report);

// Refuses work on the legacy default stream while a stream captures that it would wait for.
spark_status refuse_implicit(const Context& ctx, spark_stream stream, const char* what, Report& report);

spark_status capture_begin(const Context& ctx, spark_stream stream, uint32_t mode, Report& report);
// Gives the recorded work, to be destroyed by the caller.
spark_status capture_end(const Context& ctx, spark_stream stream, void*& graph, Report& report);
// The stream is being destroyed, and a capture on it ends with it.
void capture_forget(const Context& ctx, spark_stream stream);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// One driver call (or a few) inside a context, with its refusal turned into a sentence. Private to runtime/.
#pragma once

#include "runtime/context.h"

namespace spark {

// Streams, events and graphs travel as integers through the ABI.
inline void* native(uint64_t handle) { return reinterpret_cast<void*>(handle); }
inline uint64_t integer(void* handle) { return reinterpret_cast<uint64_t>(handle); }

template <class Calls> spark_status within(const spark_context& ctx, const char* what, Report& report, Calls&& calls) {
    Current current(ctx);
    int code = current.code() != DRIVER_OK ? current.code() : calls(*ctx.driver);
    return code == DRIVER_OK ? SPARK_OK : driver_failed(*ctx.driver, code, what, report);
}

} // namespace spark

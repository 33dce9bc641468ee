// SPDX-License-Identifier: Apache-2.0
// Kernel -> loaded code, cached per context. The only place that loads code.
#pragma once

#include "dispatch/kernel.h"
#include "runtime/context.h"

namespace spark {

// The loaded kernel, or nullptr.
inline void* loaded(const Context& ctx, const Kernel& kernel) {
    return ctx.kernels == nullptr ? nullptr : ctx.kernels[kernel.index].load(std::memory_order_acquire);
}

// Loads it if it is not: exactly once, also with many threads.
spark_status load(Context& ctx, const Kernel& kernel, void*& out, Report& report);

} // namespace spark

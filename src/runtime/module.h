// SPDX-License-Identifier: Apache-2.0
// Kernel -> loaded code, cached per context. The only place that loads code.
#pragma once

#include "dispatch/kernel.h"
#include "runtime/context.h"
#include "runtime/image.h"

namespace spark {

// The loaded kernel, or nullptr.
inline void* loaded(const Context& ctx, const Kernel& kernel) {
    return ctx.kernels == nullptr ? nullptr : ctx.kernels[kernel.index].load(std::memory_order_acquire);
}

// Loads it if it is not: exactly once, also with many threads.
spark_status load(Context& ctx, const Kernel& kernel, void*& out, Report& report);
// The same; kernels of one bundle that are loaded one after the other with the same `code` are decompressed once.
spark_status load(Context& ctx, const Kernel& kernel, Code& code, void*& out, Report& report);

// The bundle that the kernel is loaded from first.
uint32_t bundle_of(const Context& ctx, const Kernel& kernel);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Contexts: a table of 64 slots that is never freed, so that a destroyed or foreign handle is recognised without
// touching freed memory. A context is immutable after creation but for its cache of loaded kernels.
#pragma once

#include <pthread.h>

#include <atomic>

#include "runtime/driver.h"

// The public handle. Only this library looks inside.
struct spark_context {
    enum State : uint32_t { empty, making, live };
    std::atomic<uint32_t> state;
    const spark::Driver* driver; // nullptr = offline
    void* cu_context;
    bool owns_primary;
    int device; // the driver's number
    spark_device_info info;
    pthread_mutex_t load_mutex;  // held while code is loaded
    std::atomic<void*>* kernels; // CUkernel of kernels::all()[i], nullptr until loaded
    void** libraries;            // the CUlibrary that each came from
};

namespace spark {

constexpr uint32_t MAX_CONTEXTS = 64;

// What a device is, and whether this library runs on it. Never fails for an unsupported device.
spark_status device_info(const Driver& d, int32_t ordinal, spark_device_info& info, Report& report);
// Compute capability as a number: 120, 121, 90; other = not supported.
bool arch_supported(uint32_t arch);
inline uint32_t arch_of(const spark_device_info& info) { return info.cc_major * 10 + info.cc_minor; }

spark_status context_create(const spark_context_desc& desc, spark_context*& out, Report& report);
void context_destroy(spark_context* ctx);

// INVALID_HANDLE unless ctx is live; NO_DEVICE if it is offline and `online` is wanted.
spark_status context_check(spark_context* ctx, bool online, Report& report);

// Makes the context current for a few driver calls.
class Current {
public:
    explicit Current(const spark_context& ctx) : driver_(*ctx.driver), code_(driver_.context_push(ctx.cu_context)) {}
    ~Current() {
        void* ignored;
        if (code_ == DRIVER_OK) driver_.context_pop(&ignored);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    int code() const { return code_; }

private:
    const Driver& driver_;
    int code_;
};

} // namespace spark

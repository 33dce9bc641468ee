// SPDX-License-Identifier: Apache-2.0
// Contexts: immutable after creation but for the caches of loaded kernels and of choices. At most 64 live; their memory
// is never freed. The public spark_context* is a handle (handles.h), not an address.
#pragma once

#include <pthread.h>

#include <atomic>

#include "dispatch/cost.h"
#include "dispatch/memo.h"
#include "dispatch/tuning.h"
#include "runtime/driver.h"

namespace spark {

constexpr uint32_t MAX_CONTEXTS = 64;

struct Context {
    std::atomic<bool> taken;
    const Driver* driver; // nullptr = offline
    void* cu_context;
    bool owns_primary;
    int device; // the driver's number
    spark_device_info info;
    spark::Target target;        // what dispatch wants to know of the device
    pthread_mutex_t load_mutex;  // held while code is loaded
    std::atomic<void*>* kernels; // CUkernel of kernels::all()[i], nullptr until loaded
    void** libraries;            // the CUlibrary that each came from
    uint8_t* resident;           // blocks of each kernel that an SM holds
    Tuning tuning;
    Memo* memo; // of choices
};

// The file that the description names, else LIBSPARK_TUNE, for a device. One for another chip or library is left out,
// with a warning.
spark_status tuning_open(const spark_context_desc& desc, const spark_device_info& info, Tuning& tuning, Report& report);
void tuning_close(Tuning& tuning);

// What a device is, and whether this library runs on it. Never fails for an unsupported device.
spark_status device_info(const Driver& d, int32_t ordinal, spark_device_info& info, Report& report);
// The same question alone, with a sentence of any length why not.
bool device_supported(const spark_device_info& info, char* why, size_t size);
// Compute capability as a number: 120, 121, 90; other = not supported.
bool arch_supported(uint32_t arch);
inline uint32_t arch_of(const spark_device_info& info) { return info.cc_major * 10 + info.cc_minor; }

spark_status context_create(const spark_context_desc& desc, spark_context*& out, Report& report);
void context_destroy(spark_context* handle);

// Makes the context current for a few driver calls.
class Current {
public:
    explicit Current(const Context& ctx) : driver_(*ctx.driver), code_(driver_.context_push(ctx.cu_context)) {}
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

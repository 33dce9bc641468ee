// SPDX-License-Identifier: Apache-2.0
// The table of contexts.
#include "runtime/context.h"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "spark_kernels.h"

namespace spark {
namespace {

constinit spark_context slots[MAX_CONTEXTS]{};

spark_context* claim() {
    for (spark_context& slot : slots) {
        uint32_t expected = spark_context::empty;
        if (slot.state.compare_exchange_strong(expected, spark_context::making)) return &slot;
    }
    return nullptr;
}

spark_status open_offline(const spark_context_desc& desc, spark_context& ctx, Report& report) {
    if (!arch_supported(desc.offline_arch)) {
        return report.fail(SPARK_ERR_UNSUPPORTED_ARCH, "desc.offline_arch is %u; 120 or 121 wanted (90 for testing)",
                           desc.offline_arch);
    }
    ctx.driver = nullptr;
    ctx.info.device = -1;
    ctx.info.cc_major = desc.offline_arch / 10;
    ctx.info.cc_minor = desc.offline_arch % 10;
    ctx.info.smem_optin = desc.offline_arch >= 120 ? 101376 : 232448;
    ctx.info.supported = 1;
    snprintf(ctx.info.name, sizeof ctx.info.name, "offline %u.%u", ctx.info.cc_major, ctx.info.cc_minor);
    return SPARK_OK;
}

spark_status open_device(const spark_context_desc& desc, spark_context& ctx, Report& report) {
    const Driver* d = nullptr;
    if (spark_status s = driver(d, report)) return s;
    if (spark_status s = device_info(*d, desc.device, ctx.info, report)) return s;
    if (ctx.info.supported == 0) {
        return report.fail(SPARK_ERR_UNSUPPORTED_ARCH, "device %d (%s) has %s", desc.device, ctx.info.name,
                           ctx.info.reason);
    }
    if (int rc = d->device_get(&ctx.device, desc.device)) return driver_failed(*d, rc, "opening the device", report);
    size_t count = kernels::all().size() + 1;
    ctx.kernels = static_cast<std::atomic<void*>*>(calloc(count, sizeof(std::atomic<void*>)));
    ctx.libraries = static_cast<void**>(calloc(count, sizeof(void*)));
    if (ctx.kernels == nullptr || ctx.libraries == nullptr) {
        return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for a table of %zu kernels", count);
    }
    ctx.cu_context = reinterpret_cast<void*>(desc.cu_context);
    ctx.owns_primary = desc.cu_context == 0;
    if (ctx.owns_primary) {
        if (int rc = d->primary_retain(&ctx.cu_context, ctx.device)) {
            ctx.owns_primary = false;
            return driver_failed(*d, rc, "opening the device's primary context", report);
        }
    }
    ctx.driver = d;
    Current current(ctx);
    int device = -1;
    int rc = current.code() != DRIVER_OK ? current.code() : d->context_device(&device);
    if (rc != DRIVER_OK) return driver_failed(*d, rc, "entering the context", report);
    if (device != ctx.device) {
        return report.fail(SPARK_ERR_INVALID_DEVICE,
                           "desc.cu_context belongs to another device than desc.device, which is %d", desc.device);
    }
    return SPARK_OK;
}

void release(spark_context& ctx) {
    if (ctx.libraries != nullptr && ctx.driver != nullptr) {
        for (size_t i = 0; i < kernels::all().size(); ++i) {
            if (ctx.libraries[i] != nullptr) ctx.driver->library_unload(ctx.libraries[i]);
        }
    }
    if (ctx.owns_primary && ctx.driver != nullptr) ctx.driver->primary_release(ctx.device);
    free(ctx.kernels);
    free(ctx.libraries);
    ctx.kernels = nullptr;
    ctx.libraries = nullptr;
    ctx.driver = nullptr;
    ctx.owns_primary = false;
}

bool is_slot(const spark_context* ctx) {
    auto address = reinterpret_cast<uintptr_t>(ctx), first = reinterpret_cast<uintptr_t>(slots);
    return address >= first && address < first + sizeof slots && (address - first) % sizeof(spark_context) == 0;
}

} // namespace

spark_status context_create(const spark_context_desc& desc, spark_context*& out, Report& report) {
    if (desc.flags != 0) return report.fail(SPARK_ERR_INVALID_RESERVED, "desc.flags is %u; 0 wanted", desc.flags);
    spark_context* ctx = claim();
    if (ctx == nullptr)
        return report.fail(SPARK_ERR_UNSUPPORTED, "%u contexts are alive; at most %u may be", MAX_CONTEXTS,
                           MAX_CONTEXTS);
    ctx->info = {};
    ctx->info.struct_size = sizeof ctx->info;
    ctx->owns_primary = false;
    pthread_mutex_init(&ctx->load_mutex, nullptr);
    spark_status status = desc.offline_arch != 0 ? open_offline(desc, *ctx, report) : open_device(desc, *ctx, report);
    if (status != SPARK_OK) {
        release(*ctx);
        ctx->state.store(spark_context::empty, std::memory_order_release);
        return status;
    }
    ctx->state.store(spark_context::live, std::memory_order_release);
    out = ctx;
    return SPARK_OK;
}

void context_destroy(spark_context* ctx) {
    uint32_t expected = spark_context::live;
    if (!is_slot(ctx) || !ctx->state.compare_exchange_strong(expected, spark_context::making)) return;
    release(*ctx);
    pthread_mutex_destroy(&ctx->load_mutex);
    ctx->state.store(spark_context::empty, std::memory_order_release);
}

spark_status context_check(spark_context* ctx, bool online, Report& report) {
    if (ctx == nullptr)
        return report.fail(SPARK_ERR_INVALID_HANDLE, "ctx is NULL; a context from spark_context_create wanted");
    if (!is_slot(ctx) || ctx->state.load(std::memory_order_acquire) != spark_context::live) {
        return report.fail(SPARK_ERR_INVALID_HANDLE, "ctx is not a live context of this library");
    }
    if (online && ctx->driver == nullptr) {
        return report.fail(SPARK_ERR_NO_DEVICE, "ctx is offline (arch %u): it answers query, explain and kernels only",
                           arch_of(ctx->info));
    }
    const Driver* d = nullptr;
    return online ? driver(d, report) : SPARK_OK;
}

} // namespace spark

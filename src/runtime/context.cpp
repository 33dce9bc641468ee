// SPDX-License-Identifier: Apache-2.0
// Making and ending contexts.
#include "runtime/context.h"

#include <cstdio>
#include <cstdlib>

#include "runtime/objects.h"
#include "spark_kernels.h"

namespace spark {
namespace {

constinit Context contexts[MAX_CONTEXTS]{};
static_assert(sizeof(spark_context*) == sizeof(uint64_t));

Context* claim() {
    for (Context& ctx : contexts) {
        if (!ctx.taken.exchange(true, std::memory_order_acquire)) return &ctx;
    }
    return nullptr;
}

uint64_t number(spark_context* handle) { return reinterpret_cast<uint64_t>(handle); }

spark_status open_offline(const spark_context_desc& desc, Context& ctx, Report& report) {
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

spark_status open_device(const spark_context_desc& desc, Context& ctx, Report& report) {
    const Driver* d = nullptr;
    if (spark_status s = driver(d, report)) return s;
    if (spark_status s = device_info(*d, desc.device, ctx.info, report)) return s;
    char why[512];
    if (ctx.info.supported == 0 && !device_supported(ctx.info, why, sizeof why))
        return report.fail(SPARK_ERR_UNSUPPORTED_ARCH, "device %d (%s) has %s", desc.device, ctx.info.name, why);
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

spark_status prepare_dispatch(Context& ctx, Report& report) {
    ctx.target = find_target(arch_of(ctx.info), ctx.info.name, ctx.info.sm_count);
    std::span<const Kernel* const> all = kernels::all();
    ctx.resident = static_cast<uint8_t*>(calloc(all.size() + 1, 1));
    ctx.memo = static_cast<Memo*>(calloc(1, sizeof(Memo)));
    if (ctx.resident == nullptr || ctx.memo == nullptr) {
        return report.fail(SPARK_ERR_HOST_MEMORY, "no host memory for a table of %zu kernels", all.size());
    }
    for (const Kernel* kernel : all) {
        const std::span<const Image> images = kernels::images_of(*kernel);
        if (!has_code(ctx.target, images)) continue;
        ctx.resident[kernel->index] = static_cast<uint8_t>(resident_blocks(ctx.target, *kernel, images));
    }
    ctx.target.resident = ctx.resident;
    return SPARK_OK;
}

// Gives back what the context holds, and its place.
void close(Context& ctx) {
    if (ctx.libraries != nullptr && ctx.driver != nullptr) {
        for (size_t i = 0; i < kernels::all().size(); ++i) {
            if (ctx.libraries[i] != nullptr) ctx.driver->library_unload(ctx.libraries[i]);
        }
    }
    if (ctx.owns_primary && ctx.driver != nullptr) ctx.driver->primary_release(ctx.device);
    free(ctx.kernels);
    free(ctx.libraries);
    free(ctx.resident);
    free(ctx.memo);
    tuning_close(ctx.tuning);
    ctx.kernels = nullptr;
    ctx.libraries = nullptr;
    ctx.resident = nullptr;
    ctx.memo = nullptr;
    ctx.driver = nullptr;
    ctx.owns_primary = false;
    pthread_mutex_destroy(&ctx.load_mutex);
    ctx.taken.store(false, std::memory_order_release);
}

} // namespace

spark_status context_create(const spark_context_desc& desc, spark_context*& out, Report& report) {
    if (desc.flags != 0) return report.fail(SPARK_ERR_INVALID_RESERVED, "desc.flags is %u; 0 wanted", desc.flags);
    Context* ctx = claim();
    if (ctx == nullptr)
        return report.fail(SPARK_ERR_UNSUPPORTED, "%u contexts are alive; at most %u may be", MAX_CONTEXTS,
                           MAX_CONTEXTS);
    Slot* slot = nullptr;
    ctx->info = {};
    ctx->info.struct_size = sizeof ctx->info;
    ctx->owns_primary = false;
    ctx->tuning = {};
    pthread_mutex_init(&ctx->load_mutex, nullptr);
    spark_status status = desc.offline_arch != 0 ? open_offline(desc, *ctx, report) : open_device(desc, *ctx, report);
    if (status == SPARK_OK) status = prepare_dispatch(*ctx, report);
    if (status == SPARK_OK) status = tuning_open(desc, ctx->info, ctx->tuning, report);
    if (status == SPARK_OK) status = slot_take(slot, report);
    if (status != SPARK_OK) {
        close(*ctx);
        return status;
    }
    out = reinterpret_cast<spark_context*>(slot_fill(*slot, Kind::CONTEXT, ctx, nullptr));
    return SPARK_OK;
}

void context_destroy(spark_context* handle) {
    Slot* slot = slot_end(number(handle), Kind::CONTEXT);
    if (slot == nullptr) return;
    auto& ctx = *static_cast<Context*>(slot->object);
    if (ctx.driver != nullptr) objects_destroy(ctx);
    close(ctx);
    slot_give_back(*slot);
}

} // namespace spark

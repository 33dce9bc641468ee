// SPDX-License-Identifier: Apache-2.0
// The only launch in the library. On the warm path: check the stream, enter the context, launch (once, or a few times
// in order), leave.
#include "runtime/launch.h"

#include "runtime/capture.h"

namespace spark {
namespace {

// Of a stream that other software made, the driver knows the context.
spark_status check_stream(const Context& ctx, const Stream& stream, Report& report) {
    const Driver& d = *ctx.driver;
    if (!stream.is_foreign() || d.stream_context == nullptr) return SPARK_OK;
    void* owner = nullptr;
    if (int code = d.stream_context(stream.native(), &owner)) {
        return driver_failed(d, code, "looking up exec.stream", report);
    }
    if (owner == ctx.cu_context) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_DEVICE, "exec.stream 0x%llx belongs to another driver context than ctx",
                       stream.handle());
}

spark_status load_unless_capturing(Context& ctx, const Stream& stream, const Kernel& kernel, void*& handle,
                                   Report& report) {
    const Driver& d = *ctx.driver;
    int capturing = 0;
    if (int code = d.stream_capturing(stream.native(), &capturing)) {
        return driver_failed(d, code, "asking whether exec.stream is capturing", report);
    }
    if (capturing != 0) {
        return report.fail(SPARK_ERR_NOT_PREPARED,
                           "%s is not loaded and exec.stream is capturing; call spark_op_prepare with "
                           "these arguments before the capture",
                           kernel.name);
    }
    return load(ctx, kernel, handle, report);
}

// What the header asks of the launch beyond its shape; how many attributes these are.
uint32_t put_attributes(const Launch& work, LaunchAttribute* to) {
    uint32_t count = 0;
    const Grid& cluster = work.cluster;
    if (cluster.x != 0) to[count++] = {DRIVER_ATTRIBUTE_CLUSTER, 0, {cluster.x, cluster.y, cluster.z}};
    if (work.kernel->dependent) to[count++] = {DRIVER_ATTRIBUTE_DEPENDENT, 0, {1}};
    return count;
}

spark_status enqueue(const Context& ctx, const Stream& stream, const Launch& work, Report& report) {
    const Driver& d = *ctx.driver;
    LaunchAttribute attributes[2];
    const LaunchConfig config = {
        {work.grid.x, work.grid.y, work.grid.z}, {work.kernel->block, 1, 1}, work.smem, stream.native(), attributes,
        put_attributes(work, attributes)};
    auto* params = const_cast<std::byte*>(work.params);
    size_t bytes = work.kernel->param_bytes;
    void* extra[] = {reinterpret_cast<void*>(uintptr_t{1}), params, // buffer
                     reinterpret_cast<void*>(uintptr_t{2}), &bytes, // its size
                     nullptr};
    void* each[sizeof work.params / 4];
    const std::span<const uint16_t> apart = work.kernel->apart;
    for (size_t i = 0; i < apart.size(); ++i) each[i] = params + apart[i];
    int code = d.launch_kernel(&config, loaded(ctx, *work.kernel), apart.empty() ? nullptr : each,
                               apart.empty() ? extra : nullptr);
    return code == DRIVER_OK ? SPARK_OK : driver_failed(d, code, work.kernel->name, report);
}

} // namespace

spark_status load(Context& ctx, const Plan& plan, Report& report) {
    for (const Launch& work : plan.all()) {
        void* handle = nullptr;
        if (spark_status s = load(ctx, *work.kernel, handle, report)) return s;
    }
    return SPARK_OK;
}

bool loaded(const Context& ctx, const Plan& plan) {
    for (const Launch& work : plan.all()) {
        if (loaded(ctx, *work.kernel) == nullptr) return false;
    }
    return plan.count != 0;
}

spark_status launch(Context& ctx, const Stream& stream, const Plan& plan, Report& report) {
    if (spark_status s = check_stream(ctx, stream, report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "a launch", report)) return s;
    if (plan.encoding != DRIVER_OK) return driver_failed(*ctx.driver, plan.encoding, "encoding a tensor map", report);
    Current current(ctx);
    if (current.code() != DRIVER_OK) return driver_failed(*ctx.driver, current.code(), "entering the context", report);
    for (const Launch& work : plan.all()) {
        if (loaded(ctx, *work.kernel) != nullptr) continue;
        void* handle = nullptr;
        if (spark_status s = load_unless_capturing(ctx, stream, *work.kernel, handle, report)) return s;
    }
    for (const Launch& work : plan.all()) {
        if (spark_status s = enqueue(ctx, stream, work, report)) return s;
    }
    return SPARK_OK;
}

} // namespace spark

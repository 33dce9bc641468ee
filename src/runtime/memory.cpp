// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned memory of the host, and copies.
#include "runtime/memory.h"

#include "runtime/capture.h"
#include "runtime/scope.h"

namespace spark {
namespace {

// A copy that waits cannot be recorded; one that does not can.
spark_status check_copy(const Context& ctx, const Stream& stream, bool wait, const char* what, Report& report) {
    return wait ? refuse_on_capturing(ctx, stream, what, report) : refuse_implicit(ctx, stream, what, report);
}

} // namespace

spark_status mem_alloc(const Context& ctx, uint64_t bytes, spark_devptr& out, Report& report) {
    if (bytes == 0) {
        out = 0;
        return SPARK_OK;
    }
    if (spark_status s = refuse_in_capture(ctx, "allocating device memory", report)) return s;
    uint64_t data = 0;
    spark_status s =
        within(ctx, "allocating device memory", report, [&](const Driver& d) { return d.mem_alloc(&data, bytes); });
    if (s == SPARK_OK) out = data;
    return s;
}

spark_status mem_free(const Context& ctx, spark_devptr data, Report& report) {
    if (data == 0) return SPARK_OK;
    if (spark_status s = refuse_in_capture(ctx, "freeing device memory", report)) return s;
    return within(ctx, "freeing device memory", report, [&](const Driver& d) { return d.mem_free(data); });
}

spark_status mem_info(const Context& ctx, uint64_t& free_bytes, uint64_t& total_bytes, Report& report) {
    size_t a = 0, b = 0;
    spark_status s =
        within(ctx, "reading the memory size", report, [&](const Driver& d) { return d.mem_info(&a, &b); });
    if (s == SPARK_OK) free_bytes = a, total_bytes = b;
    return s;
}

spark_status mem_alloc_async(const Context& ctx, uint64_t bytes, const Stream& stream, spark_devptr& out,
                             Report& report) {
    const char* what = "allocating device memory in stream order";
    if (bytes == 0) {
        out = 0;
        return SPARK_OK;
    }
    if (spark_status s = refuse_on_capturing(ctx, stream, what, report)) return s;
    if (spark_status s = check_symbol(ctx.driver->mem_alloc_async, DRIVER_NAMES.mem_alloc_async, report)) return s;
    uint64_t data = 0;
    spark_status s =
        within(ctx, what, report, [&](const Driver& d) { return d.mem_alloc_async(&data, bytes, stream.native()); });
    if (s == SPARK_OK) out = data;
    return s;
}

spark_status mem_free_async(const Context& ctx, spark_devptr data, const Stream& stream, Report& report) {
    const char* what = "freeing device memory in stream order";
    if (data == 0) return SPARK_OK;
    if (spark_status s = refuse_on_capturing(ctx, stream, what, report)) return s;
    if (spark_status s = check_symbol(ctx.driver->mem_free_async, DRIVER_NAMES.mem_free_async, report)) return s;
    return within(ctx, what, report, [&](const Driver& d) { return d.mem_free_async(data, stream.native()); });
}

spark_status host_alloc(const Context& ctx, uint64_t bytes, void*& out, Report& report) {
    constexpr unsigned PORTABLE = 1; // pinned for every context
    void* data = nullptr;
    bool full = false;
    if (bytes != 0) {
        if (spark_status s = refuse_in_capture(ctx, "allocating pinned memory", report)) return s;
        spark_status s = within(ctx, "allocating pinned memory", report, [&](const Driver& d) {
            int code = d.host_alloc(&data, bytes, PORTABLE);
            full = code == DRIVER_OUT_OF_MEMORY;
            return full ? static_cast<int>(DRIVER_OK) : code;
        });
        if (s != SPARK_OK) return s;
    }
    if (full) {
        report.set_driver_code(DRIVER_OUT_OF_MEMORY);
        return report.fail(SPARK_ERR_HOST_MEMORY, "bytes is %llu; the host cannot pin as much",
                           static_cast<unsigned long long>(bytes));
    }
    out = data;
    return SPARK_OK;
}

spark_status host_free(const Context& ctx, void* data, Report& report) {
    if (data == nullptr) return SPARK_OK;
    if (spark_status s = refuse_in_capture(ctx, "freeing pinned memory", report)) return s;
    return within(ctx, "freeing pinned memory", report, [&](const Driver& d) { return d.host_free(data); });
}

spark_status copy_to_device(const Context& ctx, spark_devptr dst, const void* src, uint64_t bytes, const Stream& stream,
                            bool wait, Report& report) {
    if (bytes == 0) return SPARK_OK;
    if (spark_status s = need_address(dst, "dst", report)) return s;
    if (spark_status s = check_copy(ctx, stream, wait, "copying to the device", report)) return s;
    return within(ctx, "copying to the device", report, [&](const Driver& d) {
        int code = d.copy_to_device(dst, src, bytes, stream.native());
        return code != DRIVER_OK || !wait ? code : d.stream_synchronize(stream.native());
    });
}

spark_status copy_to_host(const Context& ctx, void* dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                          bool wait, Report& report) {
    if (bytes == 0) return SPARK_OK;
    if (spark_status s = need_address(src, "src", report)) return s;
    if (spark_status s = check_copy(ctx, stream, wait, "copying to the host", report)) return s;
    return within(ctx, "copying to the host", report, [&](const Driver& d) {
        int code = d.copy_to_host(dst, src, bytes, stream.native());
        return code != DRIVER_OK || !wait ? code : d.stream_synchronize(stream.native());
    });
}

spark_status copy(const Context& ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, const Stream& stream,
                  Report& report) {
    if (bytes == 0) return SPARK_OK;
    if (spark_status s = need_address(dst, "dst", report)) return s;
    if (spark_status s = need_address(src, "src", report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "copying on the device", report)) return s;
    return within(ctx, "copying on the device", report,
                  [&](const Driver& d) { return d.copy(dst, src, bytes, stream.native()); });
}

spark_status set(const Context& ctx, spark_devptr dst, uint32_t value, uint64_t bytes, const Stream& stream,
                 Report& report) {
    if (value > 255) return report.fail(SPARK_ERR_INVALID_VALUE, "value is %u; 0 to 255 wanted", value);
    if (bytes == 0) return SPARK_OK;
    if (spark_status s = need_address(dst, "dst", report)) return s;
    if (spark_status s = refuse_implicit(ctx, stream, "setting device memory", report)) return s;
    return within(ctx, "setting device memory", report, [&](const Driver& d) {
        return d.set(dst, static_cast<unsigned char>(value), bytes, stream.native());
    });
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Device memory. Copies from and to the host wait for the stream, so that host memory is free on return.
#include "runtime/memory.h"

#include "runtime/scope.h"

namespace spark {

spark_status mem_alloc(const spark_context& ctx, uint64_t bytes, spark_devptr& out, Report& report) {
    if (bytes == 0) {
        out = 0;
        return SPARK_OK;
    }
    uint64_t data = 0;
    spark_status s =
        within(ctx, "allocating device memory", report, [&](const Driver& d) { return d.mem_alloc(&data, bytes); });
    if (s == SPARK_OK) out = data;
    return s;
}

spark_status mem_free(const spark_context& ctx, spark_devptr data, Report& report) {
    if (data == 0) return SPARK_OK;
    return within(ctx, "freeing device memory", report, [&](const Driver& d) { return d.mem_free(data); });
}

spark_status mem_info(const spark_context& ctx, uint64_t& free_bytes, uint64_t& total_bytes, Report& report) {
    size_t a = 0, b = 0;
    spark_status s =
        within(ctx, "reading the memory size", report, [&](const Driver& d) { return d.mem_info(&a, &b); });
    if (s == SPARK_OK) free_bytes = a, total_bytes = b;
    return s;
}

spark_status copy_to_device(const spark_context& ctx, spark_devptr dst, const void* src, uint64_t bytes,
                            spark_stream stream, Report& report) {
    if (bytes == 0) return SPARK_OK;
    return within(ctx, "copying to the device", report, [&](const Driver& d) {
        int code = d.copy_to_device(dst, src, bytes, native(stream));
        return code != DRIVER_OK ? code : d.stream_synchronize(native(stream));
    });
}

spark_status copy_to_host(const spark_context& ctx, void* dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                          Report& report) {
    if (bytes == 0) return SPARK_OK;
    return within(ctx, "copying to the host", report, [&](const Driver& d) {
        int code = d.copy_to_host(dst, src, bytes, native(stream));
        return code != DRIVER_OK ? code : d.stream_synchronize(native(stream));
    });
}

spark_status copy(const spark_context& ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                  Report& report) {
    if (bytes == 0) return SPARK_OK;
    return within(ctx, "copying on the device", report,
                  [&](const Driver& d) { return d.copy(dst, src, bytes, native(stream)); });
}

spark_status set(const spark_context& ctx, spark_devptr dst, uint32_t value, uint64_t bytes, spark_stream stream,
                 Report& report) {
    if (value > 255) return report.fail(SPARK_ERR_INVALID_VALUE, "value is %u; 0 to 255 wanted", value);
    if (bytes == 0) return SPARK_OK;
    return within(ctx, "setting device memory", report, [&](const Driver& d) {
        return d.set(dst, static_cast<unsigned char>(value), bytes, native(stream));
    });
}

} // namespace spark

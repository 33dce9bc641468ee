// SPDX-License-Identifier: Apache-2.0
// extern "C": memory, copies and peers.
#include "runtime/memory.h"
#include "api/guard.h"

using namespace spark;

namespace {

// Two contexts, both with a device.
template <class Body> spark_status on_devices(spark_context* a, spark_context* b, spark_error* err, Body&& body) {
    return on_device(a, err, [&](Context& first, Report& r) {
        UsedContext second;
        spark_status s = second.find(b, true, r);
        return s != SPARK_OK ? s : body(first, *second, r);
    });
}

} // namespace

extern "C" {

spark_status spark_mem_alloc(spark_context* ctx, uint64_t bytes, spark_devptr* out, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : mem_alloc(c, bytes, *out, r);
    });
}

spark_status spark_mem_free(spark_context* ctx, spark_devptr data, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return mem_free(c, data, r); });
}

spark_status spark_mem_info(spark_context* ctx, uint64_t* free_bytes, uint64_t* total_bytes, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        if (spark_status s = need_pointer(free_bytes, "free_bytes", r)) return s;
        if (spark_status s = need_pointer(total_bytes, "total_bytes", r)) return s;
        return mem_info(c, *free_bytes, *total_bytes, r);
    });
}

spark_status spark_mem_copy_to_device(spark_context* ctx, spark_devptr dst, const void* src, uint64_t bytes,
                                      spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = bytes != 0 ? need_pointer(src, "src", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_device(c, dst, src, bytes, on, true, r);
    });
}

spark_status spark_mem_copy_to_host(spark_context* ctx, void* dst, spark_devptr src, uint64_t bytes,
                                    spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = bytes != 0 ? need_pointer(dst, "dst", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_host(c, dst, src, bytes, on, true, r);
    });
}

spark_status spark_mem_copy_to_device_async(spark_context* ctx, spark_devptr dst, const void* src, uint64_t bytes,
                                            spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = bytes != 0 ? need_pointer(src, "src", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_device(c, dst, src, bytes, on, false, r);
    });
}

spark_status spark_mem_copy_to_host_async(spark_context* ctx, void* dst, spark_devptr src, uint64_t bytes,
                                          spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = bytes != 0 ? need_pointer(dst, "dst", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_host(c, dst, src, bytes, on, false, r);
    });
}

spark_status spark_mem_copy(spark_context* ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                            spark_error* err) {
    return on_stream(ctx, stream, err,
                     [&](Context& c, const Stream& on, Report& r) { return copy(c, dst, src, bytes, on, r); });
}

spark_status spark_mem_set(spark_context* ctx, spark_devptr dst, uint32_t value, uint64_t bytes, spark_stream stream,
                           spark_error* err) {
    return on_stream(ctx, stream, err,
                     [&](Context& c, const Stream& on, Report& r) { return set(c, dst, value, bytes, on, r); });
}

spark_status spark_mem_alloc_async(spark_context* ctx, uint64_t bytes, spark_stream stream, spark_devptr* out,
                                   spark_error* err) {
    return on_stream(ctx, stream, err, [&](Context& c, const Stream& on, Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : mem_alloc_async(c, bytes, on, *out, r);
    });
}

spark_status spark_mem_free_async(spark_context* ctx, spark_devptr data, spark_stream stream, spark_error* err) {
    return on_stream(ctx, stream, err,
                     [&](Context& c, const Stream& on, Report& r) { return mem_free_async(c, data, on, r); });
}

spark_status spark_host_alloc(spark_context* ctx, uint64_t bytes, void** out, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : host_alloc(c, bytes, *out, r);
    });
}

spark_status spark_host_free(spark_context* ctx, void* data, spark_error* err) {
    return on_device(ctx, err, [&](Context& c, Report& r) { return host_free(c, data, r); });
}

spark_status spark_peer_can_access(spark_context* ctx, spark_context* peer, uint32_t* can, spark_error* err) {
    return on_devices(ctx, peer, err, [&](Context& c, Context& other, Report& r) {
        spark_status s = need_pointer(can, "can", r);
        return s != SPARK_OK ? s : peer_can_access(c, other, *can, r);
    });
}

spark_status spark_peer_enable(spark_context* ctx, spark_context* peer, spark_error* err) {
    return on_devices(ctx, peer, err, [&](Context& c, Context& other, Report& r) { return peer_enable(c, other, r); });
}

spark_status spark_mem_copy_peer(spark_context* dst_ctx, spark_devptr dst, spark_context* src_ctx, spark_devptr src,
                                 uint64_t bytes, spark_stream stream, spark_error* err) {
    return on_devices(dst_ctx, src_ctx, err, [&](Context& c, Context& other, Report& r) {
        Stream on;
        if (spark_status s = on.find(c, stream, "stream", r, &other)) return s;
        return copy_peer({c, other}, dst, src, bytes, on, r);
    });
}

} // extern "C"

// SPDX-License-Identifier: Apache-2.0
// extern "C": device memory.
#include "runtime/memory.h"
#include "api/guard.h"

using namespace spark;

extern "C" {

spark_status spark_mem_alloc(spark_context* ctx, uint64_t bytes, spark_devptr* out, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = need_pointer(out, "out", r);
        return s != SPARK_OK ? s : mem_alloc(*ctx, bytes, *out, r);
    });
}

spark_status spark_mem_free(spark_context* ctx, spark_devptr data, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return mem_free(*ctx, data, r); });
}

spark_status spark_mem_info(spark_context* ctx, uint64_t* free_bytes, uint64_t* total_bytes, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        if (spark_status s = need_pointer(free_bytes, "free_bytes", r)) return s;
        if (spark_status s = need_pointer(total_bytes, "total_bytes", r)) return s;
        return mem_info(*ctx, *free_bytes, *total_bytes, r);
    });
}

spark_status spark_mem_copy_to_device(spark_context* ctx, spark_devptr dst, const void* src, uint64_t bytes,
                                      spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = bytes != 0 ? need_pointer(src, "src", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_device(*ctx, dst, src, bytes, stream, r);
    });
}

spark_status spark_mem_copy_to_host(spark_context* ctx, void* dst, spark_devptr src, uint64_t bytes,
                                    spark_stream stream, spark_error* err) {
    return on_device(ctx, err, [&](Report& r) {
        spark_status s = bytes != 0 ? need_pointer(dst, "dst", r) : SPARK_OK;
        return s != SPARK_OK ? s : copy_to_host(*ctx, dst, src, bytes, stream, r);
    });
}

spark_status spark_mem_copy(spark_context* ctx, spark_devptr dst, spark_devptr src, uint64_t bytes, spark_stream stream,
                            spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return copy(*ctx, dst, src, bytes, stream, r); });
}

spark_status spark_mem_set(spark_context* ctx, spark_devptr dst, uint32_t value, uint64_t bytes, spark_stream stream,
                           spark_error* err) {
    return on_device(ctx, err, [&](Report& r) { return set(*ctx, dst, value, bytes, stream, r); });
}

} // extern "C"

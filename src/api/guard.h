// SPDX-License-Identifier: Apache-2.0
// What every exported function does around its one call: make a Report, hand the outcome to the caller's error.
// The library is built without exceptions and never aborts.
#pragma once

#include <cstring>

#include "ops/common/validate.h"
#include "runtime/objects.h"

namespace spark {

template <class Body> spark_status guarded(spark_error* err, Body&& body) {
    Report report;
    return report.store(body(report), err);
}

// The same for calls on a context, `online` if it must have a device.
template <class Body> spark_status in_context(spark_context* handle, bool online, spark_error* err, Body&& body) {
    return guarded(err, [&](Report& report) {
        UsedContext ctx;
        spark_status s = ctx.find(handle, online, report);
        return s != SPARK_OK ? s : body(*ctx, report);
    });
}

template <class Body> spark_status on_device(spark_context* handle, spark_error* err, Body&& body) {
    return in_context(handle, true, err, body);
}

// The same for calls on a stream as well.
template <class Body>
spark_status on_stream(spark_context* handle, spark_stream stream, spark_error* err, Body&& body) {
    return on_device(handle, err, [&](Context& ctx, Report& report) {
        Stream found;
        spark_status s = found.find(ctx, stream, "stream", report);
        return s != SPARK_OK ? s : body(ctx, found, report);
    });
}

inline spark_status need_pointer(const void* pointer, const char* name, Report& report) {
    return pointer != nullptr ? SPARK_OK : report.fail(SPARK_ERR_INVALID_NULL, "%s is NULL", name);
}

// Reads a description; NULL stands for zeros.
template <class Struct> spark_status read_desc(const Struct* desc, Struct& to, Report& report) {
    to = {};
    return desc == nullptr ? SPARK_OK : read_struct(desc, &to, sizeof to, sizeof to, "desc", report);
}

// Checks an output structure before anything is computed, and writes it afterwards: as much as the caller has room
// for, and zeros in what a newer header may have added.
template <class Struct> spark_status check_out(const Struct* out, const char* name, Report& report) {
    if (spark_status s = need_pointer(out, name, report)) return s;
    uint32_t size;
    memcpy(&size, out, sizeof size);
    if (size >= sizeof(Struct) && size <= MAX_ARGS_SIZE) return SPARK_OK;
    return report.fail(SPARK_ERR_INVALID_STRUCT_SIZE, "%s struct_size is %u; %zu to %u wanted%s", name, size,
                       sizeof(Struct), MAX_ARGS_SIZE, size == 0 ? " (it is not set)" : "");
}

template <class Struct> void write_out(Struct* out, Struct value) {
    uint32_t size;
    memcpy(&size, out, sizeof size);
    value.struct_size = size;
    memcpy(out, &value, sizeof value);
    memset(reinterpret_cast<char*>(out) + sizeof value, 0, size - sizeof value);
}

} // namespace spark

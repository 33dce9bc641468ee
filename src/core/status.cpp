// SPDX-License-Identifier: Apache-2.0
// Status names and error sentences.
#include "core/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/log.h"

namespace spark {

const char* status_name(spark_status status) {
    switch (raw(status)) {
#define NAME(x) \
    case x: return #x;
        NAME(SPARK_OK)
        NAME(SPARK_ERR_INVALID)
        NAME(SPARK_ERR_INVALID_NULL)
        NAME(SPARK_ERR_INVALID_HANDLE)
        NAME(SPARK_ERR_INVALID_STRUCT_SIZE)
        NAME(SPARK_ERR_INVALID_RESERVED)
        NAME(SPARK_ERR_INVALID_SHAPE)
        NAME(SPARK_ERR_INVALID_STRIDE)
        NAME(SPARK_ERR_INVALID_DTYPE)
        NAME(SPARK_ERR_INVALID_ALIGNMENT)
        NAME(SPARK_ERR_INVALID_OVERLAP)
        NAME(SPARK_ERR_INVALID_BOUNDS)
        NAME(SPARK_ERR_INVALID_DEVICE)
        NAME(SPARK_ERR_WORKSPACE_TOO_SMALL)
        NAME(SPARK_ERR_BUFFER_TOO_SMALL)
        NAME(SPARK_ERR_INVALID_VALUE)
        NAME(SPARK_ERR_INVALID_CAPTURE)
        NAME(SPARK_ERR_UNSUPPORTED)
        NAME(SPARK_ERR_UNSUPPORTED_OP)
        NAME(SPARK_ERR_UNSUPPORTED_ARCH)
        NAME(SPARK_ERR_UNSUPPORTED_DTYPE)
        NAME(SPARK_ERR_UNSUPPORTED_SHAPE)
        NAME(SPARK_ERR_UNSUPPORTED_LAYOUT)
        NAME(SPARK_ERR_UNSUPPORTED_DRIVER)
        NAME(SPARK_ERR_NOT_PREPARED)
        NAME(SPARK_ERR_NO_DRIVER)
        NAME(SPARK_ERR_NO_DEVICE)
        NAME(SPARK_ERR_DRIVER)
        NAME(SPARK_ERR_LAUNCH)
        NAME(SPARK_ERR_DEVICE_MEMORY)
        NAME(SPARK_ERR_HOST_MEMORY)
        NAME(SPARK_ERR_INTERNAL)
#undef NAME
    }
    return "SPARK_STATUS_UNKNOWN";
}

spark_status Report::fail(spark_status status, const char* format, ...) {
    size_t used = 0;
    if (op_name_ != nullptr) {
        int n = snprintf(message_, sizeof message_, "%s: ", op_name_);
        used = n > 0 ? static_cast<size_t>(n) : 0;
    }
    va_list list;
    va_start(list, format);
    vsnprintf(message_ + used, sizeof message_ - used, format, list);
    va_end(list);
    log_line(SPARK_LOG_DEBUG, "check", "%s: %s", status_name(status), message_);
    return status;
}

spark_status Report::fail_field(spark_status status, uint32_t field, const char* format, ...) {
    char text[sizeof message_];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    field_ = field;
    return fail(status, "%s", text);
}

spark_status Report::store(spark_status status, spark_error* err) const {
    if (err == nullptr) return status;
    uint32_t room = 0;
    memcpy(&room, err, sizeof room);
    if (room < offsetof(spark_error, status) + sizeof(spark_status)) return status;
    spark_error out;
    out.struct_size = room;
    out.status = status;
    out.driver_code = driver_code_;
    out.op = op_;
    out.field = field_;
    size_t size = offsetof(spark_error, message) + 1;
    out.message[0] = 0;
    if (status != SPARK_OK) {
        size = sizeof out;
        memset(out.message, 0, sizeof out.message);
        memcpy(out.message, message_, strnlen(message_, sizeof message_ - 1));
    }
    if (room < size) {
        size = room;
        if (room > offsetof(spark_error, message)) out.message[room - offsetof(spark_error, message) - 1] = 0;
    }
    memcpy(err, &out, size);
    return status;
}

} // namespace spark

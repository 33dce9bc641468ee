// SPDX-License-Identifier: Apache-2.0
// Status names, and Report: the sentence that every failing call leaves behind.
// Used by everything that can fail. Knows nothing of operators or of the driver.
#pragma once

#include <spark.h>

namespace spark {

constexpr uint32_t NO_FIELD = 0xffffffffu;

const char* status_name(spark_status status);

// The bits of an enum that came from the caller: any value may stand there, and C++ may not read it as the enum.
template <class Enum> uint32_t raw(const Enum& value) {
    static_assert(sizeof(Enum) == sizeof(uint32_t));
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Collects the outcome of one call on the stack; store() hands it to the caller's spark_error.
// Cheap when nothing fails: no text is formatted, nothing is cleared.
class Report {
public:
    // Formats the sentence and returns the status, so that callers write `return report.fail(...)`.
    [[gnu::format(printf, 3, 4)]] spark_status fail(spark_status status, const char* format, ...);
    // The same for a field of the operator at hand; the sentence starts with the operator's name.
    [[gnu::format(printf, 4, 5)]] spark_status fail_field(spark_status status, uint32_t field, const char* format, ...);

    void set_op(uint32_t op, const char* name) { op_ = op, op_name_ = name; }
    void set_driver_code(int32_t code) { driver_code_ = code; }
    const char* message() const { return message_; }

    // Writes the outcome into as much of *err as its struct_size covers, and returns the status.
    spark_status store(spark_status status, spark_error* err) const;

private:
    uint32_t op_ = 0, field_ = NO_FIELD;
    int32_t driver_code_ = 0;
    const char* op_name_ = nullptr;
    char message_[sizeof(spark_error::message)];
};

} // namespace spark

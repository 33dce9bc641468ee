// SPDX-License-Identifier: Apache-2.0
// The log: silent unless LIBSPARK_LOG or spark_set_log asks. Never standard output.
#pragma once

#include <spark.h>

#include <atomic>

namespace spark {

extern std::atomic<int32_t> log_level; // highest level that anyone listens to

void log_write(int32_t level, const char* component, const char* format, ...) __attribute__((format(printf, 3, 4)));

// As LIBSPARK_LOG says ("warn", "debug,file=PATH"); nullptr and "" leave it silent.
void log_configure(const char* setting);
void log_set(spark_log_fn fn, void* user, int32_t level);

} // namespace spark

// Formats only if someone listens.
#define log_line(level, component, ...)                                                    \
    do {                                                                                   \
        if (::spark::log_level.load(std::memory_order_relaxed) >= static_cast<int>(level)) \
            ::spark::log_write(static_cast<int>(level), component, __VA_ARGS__);           \
    } while (0)

// SPDX-License-Identifier: Apache-2.0
// The log: one callback or one file, lines of "libspark level component: text".
#include "core/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/locked.h"

namespace spark {

constinit std::atomic<int32_t> log_level{SPARK_LOG_OFF};

namespace {

constexpr const char* LEVELS[] = {"off", "error", "warn", "info", "debug"};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
constinit spark_log_fn callback = nullptr;
constinit void* callback_user = nullptr;
constinit int32_t callback_level = SPARK_LOG_OFF, file_level = SPARK_LOG_OFF;
constinit FILE* file = nullptr;

void update_level() {
    log_level.store(callback_level > file_level ? callback_level : file_level, std::memory_order_relaxed);
}

} // namespace

void log_write(int32_t level, const char* component, const char* format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pthread_mutex_lock(&mutex);
    spark_log_fn fn = level <= callback_level ? callback : nullptr;
    void* user = callback_user;
    if (file != nullptr && level <= file_level) fprintf(file, "libspark %s %s: %s\n", LEVELS[level], component, text);
    pthread_mutex_unlock(&mutex);
    if (fn != nullptr) fn(user, level, component, text);
}

void log_configure(const char* setting) {
    if (setting == nullptr || *setting == 0) return;
    size_t length = strcspn(setting, ",");
    int32_t level = -1;
    for (int32_t i = 0; i < 5; ++i) {
        if (strlen(LEVELS[i]) == length && strncmp(LEVELS[i], setting, length) == 0) level = i;
    }
    const char* path = strncmp(setting + length, ",file=", 6) == 0 ? setting + length + 6 : nullptr;
    FILE* out = path != nullptr ? fopen(path, "ae") : stderr;
    if (out == nullptr) out = stderr;
    if (path != nullptr && out != stderr) setvbuf(out, nullptr, _IOLBF, 0);
    pthread_mutex_lock(&mutex);
    file = out;
    file_level = level >= 0 ? level : static_cast<int32_t>(SPARK_LOG_WARN);
    update_level();
    pthread_mutex_unlock(&mutex);
    if (level < 0) log_line(SPARK_LOG_WARN, "knobs", "LIBSPARK_LOG=%s: wanted error, warn, info or debug", setting);
}

void log_set(spark_log_fn fn, void* user, int32_t level) {
    const Locked lock(mutex);
    callback = fn;
    callback_user = user;
    int32_t most = SPARK_LOG_DEBUG;
    callback_level = fn == nullptr || level < 0 ? 0 : level > most ? most : level;
    update_level();
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Reads the environment once and reports variables that look like ours and are not.
#include "core/knobs.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/log.h"
#include "core/once.h"

namespace spark {
namespace {

constinit Knobs values{};
constinit Once once;

bool known(const char* entry) {
#define KNOB(field, variable, meaning) \
    if (strncmp(entry, variable "=", sizeof variable) == 0) return true;
#include "core/knobs.inc"
#undef KNOB
    return false;
}

void read() {
#define KNOB(field, variable, meaning) values.field = secure_getenv(variable);
#include "core/knobs.inc"
#undef KNOB
    log_configure(values.log);
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        if (strncmp(*entry, "LIBSPARK_", 9) != 0 || known(*entry)) continue;
        const char* end = strchr(*entry, '=');
        int length = end != nullptr ? static_cast<int>(end - *entry) : 40;
        log_line(SPARK_LOG_WARN, "knobs", "unknown environment variable %.*s", length, *entry);
    }
}

} // namespace

const Knobs& knobs() {
    once(read);
    return values;
}

} // namespace spark

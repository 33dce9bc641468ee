// SPDX-License-Identifier: Apache-2.0
// Opens the driver library and resolves its functions, each at the version that introduced it.
// A driver asked for a newer version than its own returns an error and leaves the outputs as they were, so they are
// cleared first; an unknown symbol is success with a null pointer.
#include "runtime/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "core/knobs.h"
#include "core/locked.h"
#include "core/log.h"
#include "runtime/beside.h"

namespace spark {
namespace {

constinit Driver table{};
constinit std::atomic<const Driver*> ready{nullptr};
constinit std::atomic<bool> forked{false};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

constexpr const char* EMULATOR = "libspark-emu.so";

using Lookup = int (*)(const char*, void**, int, uint64_t, int*);

spark_status resolve(void* library, const char* name, Report& report) {
    auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
    if (lookup == nullptr) {
        return report.fail(SPARK_ERR_UNSUPPORTED_DRIVER,
                           "%s has no cuGetProcAddress_v2; a driver of CUDA 12.0 or newer wanted", name);
    }
#define FN(member, symbol, since, required, parameters)                                \
    {                                                                                  \
        void* found = nullptr;                                                         \
        int why = 0;                                                                   \
        int rc = lookup(symbol, &found, since, 0, &why);                               \
        if (rc != DRIVER_OK) found = nullptr;                                          \
        if (found == nullptr && required) {                                            \
            return report.fail(SPARK_ERR_UNSUPPORTED_DRIVER,                           \
                               "%s has no %s (version %d, answer %d); a newer driver " \
                               "wanted",                                               \
                               name, symbol, since, rc);                               \
        }                                                                              \
        table.member = reinterpret_cast<decltype(table.member)>(found);                \
    }
#include "runtime/driver_symbols.inc"
#undef FN
    table.explain = reinterpret_cast<const char* (*)(int)>(dlsym(library, "spark_emu_explain"));
    table.name_memory = reinterpret_cast<void (*)(const NamedRange*, size_t)>(dlsym(library, "spark_emu_name_memory"));
    table.emulated = table.explain != nullptr;
    return SPARK_OK;
}

// The emulator stands beside this library, else wherever the loader finds it. `path` receives the first place.
void* open_emulator(char (&path)[4096]) {
    path[0] = 0;
    if (path_beside(EMULATOR, path, sizeof path)) {
        if (void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return library;
    }
    return dlopen(EMULATOR, RTLD_NOW | RTLD_LOCAL);
}

spark_status start(void* library, const char* name, Report& report) {
    if (library == nullptr) {
        const char* why = dlerror();
        return report.fail(SPARK_ERR_NO_DRIVER,
                           "the driver %s cannot be opened: %s; LIBSPARK_DRIVER=emu runs without a GPU", name,
                           why != nullptr ? why : "no reason given");
    }
    if (spark_status s = resolve(library, name, report)) return s;
    if (int rc = table.init(0)) {
        return rc == DRIVER_NO_DEVICE ? report.fail(SPARK_ERR_NO_DEVICE,
                                                    "%s finds no device; LIBSPARK_DRIVER=emu runs "
                                                    "without a GPU",
                                                    name)
                                      : driver_failed(table, rc, "starting the driver", report);
    }
    if (int rc = table.version(&table.version_number)) return driver_failed(table, rc, "the driver's version", report);
    log_line(SPARK_LOG_INFO, "driver", "%s, CUDA %d.%d", name, table.version_number / 1000,
             table.version_number % 1000 / 10);
    return SPARK_OK;
}

spark_status start_emulator(Report& report) {
    char path[4096];
    void* library = open_emulator(path);
    if (library != nullptr) return start(library, EMULATOR, report);
    const char* why = dlerror();
    return report.fail(SPARK_ERR_NO_DRIVER, "no emulator: it is neither %s nor where the loader looks for %s: %s",
                       *path != 0 ? path : "beside this library, whose folder is not known,", EMULATOR,
                       why != nullptr ? why : "no reason given");
}

spark_status open_driver(Report& report) {
    const char* choice = knobs().driver;
    if (choice == nullptr || *choice == 0) choice = "gpu";
    if (strcmp(choice, "emu") == 0) return start_emulator(report);
    bool automatic = strcmp(choice, "auto") == 0;
    if (!automatic && strcmp(choice, "gpu") != 0) return start(dlopen(choice, RTLD_NOW | RTLD_LOCAL), choice, report);
    spark_status status = start(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "libcuda.so.1", report);
    if (!automatic) return status;
    int count = 0;
    if (status == SPARK_OK && table.device_count(&count) == DRIVER_OK && count > 0) return SPARK_OK;
    log_line(SPARK_LOG_WARN, "driver", "no GPU (%s): the emulator is used",
             status != SPARK_OK ? report.message() : "0 devices");
    return start_emulator(report);
}

bool device_fault(int code) {
    return (code >= 700 && code <= 720 && code != 701 && code != 704 && code != 705) || code == 721;
}

spark_status status_of(int code) {
    if (code == DRIVER_OUT_OF_MEMORY) return SPARK_ERR_DEVICE_MEMORY;
    if (code >= DRIVER_CAPTURE_UNSUPPORTED && code <= DRIVER_CAPTURE_WRONG_THREAD) return SPARK_ERR_INVALID_CAPTURE;
    return device_fault(code) ? SPARK_ERR_LAUNCH : SPARK_ERR_DRIVER;
}

} // namespace

spark_status driver(const Driver*& out, Report& report) {
    out = ready.load(std::memory_order_acquire);
    if (forked.load(std::memory_order_relaxed)) {
        return report.fail(SPARK_ERR_DRIVER,
                           "this process was forked after the driver was started; start it in the child");
    }
    if (out != nullptr) return SPARK_OK;
    const Locked lock(mutex);
    spark_status status = SPARK_OK;
    if (ready.load(std::memory_order_relaxed) == nullptr) {
        status = open_driver(report);
        if (status == SPARK_OK) {
            pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
            ready.store(&table, std::memory_order_release);
        }
    }
    out = ready.load(std::memory_order_relaxed);
    return status;
}

spark_status driver_failed(const Driver& d, int code, const char* what, Report& report) {
    const char *name = nullptr, *text = nullptr;
    if (d.error_name(code, &name) != DRIVER_OK || name == nullptr) name = "unknown error";
    if (d.error_string(code, &text) != DRIVER_OK || text == nullptr) text = "";
    const char* found = d.explain != nullptr ? d.explain(code) : "";
    report.set_driver_code(code);
    return report.fail(status_of(code), "%s failed: %s (%d)%s%s", what, name, code,
                       *found != 0  ? ": "
                       : *text != 0 ? ": "
                                    : "",
                       *found != 0 ? found : text);
}

} // namespace spark

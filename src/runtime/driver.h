// SPDX-License-Identifier: Apache-2.0
// The driver library as a table of functions. driver.{h,cpp} and driver_symbols.inc are the only files that name its
// symbols; which library it is (libcuda, the emulator, a path) is LIBSPARK_DRIVER's choice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace spark {

struct Driver {
#define FN(member, symbol, since, required, parameters) int(*member) parameters;
#include "runtime/driver_symbols.inc"
#undef FN
    const char* (*last_report)(); // the emulator's: what it found in the last failed launch; nullptr on a GPU
    int32_t version_number;
    bool emulated;
};

// Driver result codes that are acted on.
enum : int {
    DRIVER_OK = 0,
    DRIVER_NOT_READY = 600,
    DRIVER_INVALID_IMAGE = 200,
    DRIVER_NO_BINARY = 209,
    DRIVER_INVALID_PTX = 218,
    DRIVER_UNSUPPORTED_PTX = 222,
    DRIVER_NO_DEVICE = 100,
};

// Opens the driver on first use; a failure is reported and may be retried. Thread-safe.
spark_status driver(const Driver*& out, Report& report);

// Turns a driver's refusal of `what` into a status and a sentence: its name, its number, its text, and what the
// emulator found. Errors of work on the device become SPARK_ERR_LAUNCH.
spark_status driver_failed(const Driver& d, int code, const char* what, Report& report);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// The driver library as a table of functions. driver.{h,cpp} and driver_symbols.inc are the only files that name its
// symbols; which library it is (libcuda, the emulator, a path) is LIBSPARK_DRIVER's choice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"

namespace spark {

// CUgraphExecUpdateResultInfo: why a graph was not updated.
struct GraphUpdateResult {
    int result;
    void* node; // of the new graph
    void* from_node;
};

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
    uint32_t id, unused;
    uint32_t value[16];
};
struct LaunchConfig {
    uint32_t grid[3], block[3];
    uint32_t smem;
    void* stream;
    LaunchAttribute* attributes;
    uint32_t count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56);
enum : uint32_t { DRIVER_ATTRIBUTE_CLUSTER = 4, DRIVER_ATTRIBUTE_DEPENDENT = 6 };

// A range of memory by name, for the emulator's findings: its spark_emu_range.
struct NamedRange {
    const char* name;
    uint64_t address, bytes;
};

struct Driver {
#define FN(member, symbol, since, required, parameters) int(*member) parameters;
#include "runtime/driver_symbols.inc"
#undef FN
    const char* (*explain)(int code); // the emulator's: what is behind a failed call, or ""; nullptr on a GPU
    void (*name_memory)(const NamedRange* ranges, size_t count); // of this thread's launches; nullptr on a GPU
    int32_t version_number;
    bool emulated;
};

// What each function is called, for messages.
struct DriverNames {
#define FN(member, symbol, since, required, parameters) const char* member = symbol;
#include "runtime/driver_symbols.inc"
#undef FN
};
inline constexpr DriverNames DRIVER_NAMES;

// Driver result codes that are acted on.
enum : int {
    DRIVER_OK = 0,
    DRIVER_OUT_OF_MEMORY = 2,
    DRIVER_INVALID_HANDLE = 400,
    DRIVER_NOT_READY = 600,
    DRIVER_PEER_ALREADY_ENABLED = 704,
    DRIVER_CAPTURE_UNSUPPORTED = 900, // the first of the refusals about captures
    DRIVER_CAPTURE_IMPLICIT = 906,
    DRIVER_CAPTURE_WRONG_THREAD = 908, // the last of them
    DRIVER_UPDATE_FAILED = 910,
    DRIVER_INVALID_IMAGE = 200,
    DRIVER_NO_BINARY = 209,
    DRIVER_INVALID_PTX = 218,
    DRIVER_UNSUPPORTED_PTX = 222,
    DRIVER_NO_DEVICE = 100,
};

// Opens the driver on first use; a failure is reported and may be retried. Thread-safe.
spark_status driver(const Driver*& out, Report& report);

// Turns a driver's refusal of `what` into a status and a sentence: its name, its number, its text, and what the
// emulator found. Errors of work on the device become SPARK_ERR_LAUNCH; what is full, and what a capture does not
// allow, has a status of its own.
spark_status driver_failed(const Driver& d, int code, const char* what, Report& report);

} // namespace spark

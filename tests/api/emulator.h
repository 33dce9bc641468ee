// SPDX-License-Identifier: Apache-2.0
// The emulator's own calls, found in the driver library that the tests run on; all absent when that is a real libcuda.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

namespace api {

template <class Function> Function emulator_call(const char* name) {
    const char* path = std::getenv("LIBSPARK_DRIVER");
    void* library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    return library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

// How often the driver function `name` was called; -1 when the driver does not count.
inline int64_t driver_calls(const char* name) {
    const auto count = emulator_call<uint64_t (*)(const char*)>("spark_emu_call_count");
    return count ? static_cast<int64_t>(count(name)) : -1;
}

} // namespace api

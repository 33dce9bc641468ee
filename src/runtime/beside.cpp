// SPDX-License-Identifier: Apache-2.0
// Asks the loader where this library is.
#include "runtime/beside.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

namespace spark {

const char* own_path() {
    Dl_info here{};
    return dladdr(reinterpret_cast<void*>(&own_path), &here) != 0 ? here.dli_fname : nullptr;
}

bool path_beside(const char* name, char* path, size_t size) {
    const char* own = own_path();
    const char* slash = own != nullptr ? strrchr(own, '/') : nullptr;
    if (slash == nullptr) return false;
    int n = snprintf(path, size, "%.*s%s", static_cast<int>(slash - own + 1), own, name);
    return n > 0 && static_cast<size_t>(n) < size;
}

} // namespace spark

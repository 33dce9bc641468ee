// SPDX-License-Identifier: Apache-2.0
// Element types: names and widths.
#include "core/dtype.h"

#include <cstdio>

namespace spark {

DtypeInfo dtype_info(uint32_t dtype) {
    switch (dtype) {
#define DTYPE(name, value, bits, largest, fraction) \
    case value:                                     \
        return {#name, bits};
#include "core/dtypes.inc"
#undef DTYPE
    default: return {nullptr, 0};
    }
}

CodeInfo code_info(uint32_t dtype) {
    switch (dtype) {
#define DTYPE(name, value, bits, largest, fraction) \
    case value:                                     \
        return {largest, fraction};
#include "core/dtypes.inc"
#undef DTYPE
    default: return {0, 0};
    }
}

const char* dtype_list(uint64_t mask, char* text, size_t capacity) {
    size_t used = 0;
    text[0] = 0;
    for (uint32_t d = 0; d < 64 && used < capacity; ++d) {
        if ((mask >> d & 1) == 0) continue;
        const char* join = used == 0 ? "" : (mask >> d) == 1 ? " or " : ", ";
        int n = snprintf(text + used, capacity - used, "%s%s", join, dtype_info(d).name);
        used += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return text;
}

} // namespace spark

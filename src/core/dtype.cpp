// SPDX-License-Identifier: Apache-2.0
// Element types: names and widths.
#include "core/dtype.h"

#include <cstdio>

namespace spark {

DtypeInfo dtype_info(uint32_t dtype) {
    switch (dtype) {
    case SPARK_DTYPE_F32: return {"F32", 32};
    case SPARK_DTYPE_F16: return {"F16", 16};
    case SPARK_DTYPE_BF16: return {"BF16", 16};
    case SPARK_DTYPE_F64: return {"F64", 64};
    case SPARK_DTYPE_TF32: return {"TF32", 32};
    case SPARK_DTYPE_I8: return {"I8", 8};
    case SPARK_DTYPE_U8: return {"U8", 8};
    case SPARK_DTYPE_I32: return {"I32", 32};
    case SPARK_DTYPE_U32: return {"U32", 32};
    case SPARK_DTYPE_I64: return {"I64", 64};
    case SPARK_DTYPE_U64: return {"U64", 64};
    case SPARK_DTYPE_BOOL8: return {"BOOL8", 8};
    case SPARK_DTYPE_I4: return {"I4", 4};
    case SPARK_DTYPE_U4: return {"U4", 4};
    case SPARK_DTYPE_E4M3: return {"E4M3", 8};
    case SPARK_DTYPE_E5M2: return {"E5M2", 8};
    case SPARK_DTYPE_E2M1: return {"E2M1", 4};
    case SPARK_DTYPE_E2M3: return {"E2M3", 6};
    case SPARK_DTYPE_E3M2: return {"E3M2", 6};
    case SPARK_DTYPE_UE8M0: return {"UE8M0", 8};
    case SPARK_DTYPE_UE4M3: return {"UE4M3", 8};
    case SPARK_DTYPE_DEVPTR: return {"DEVPTR", 64};
    default: return {nullptr, 0};
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

// SPDX-License-Identifier: Apache-2.0
// Element types: names and widths. Used by checks and by the API.
#pragma once

#include <spark.h>

namespace spark {

struct DtypeInfo {
    const char* name; // nullptr = not a dtype
    uint32_t bits;
};

DtypeInfo dtype_info(uint32_t dtype);

// Of codes, the largest number that quantize makes, and bits of the fraction; of other dtypes 0.
struct CodeInfo {
    float largest;
    uint32_t fraction;
};

CodeInfo code_info(uint32_t dtype);

// "F32, F16 or BF16" for a mask of dtypes, into text; returns text.
const char* dtype_list(uint64_t mask, char* text, size_t capacity);

} // namespace spark

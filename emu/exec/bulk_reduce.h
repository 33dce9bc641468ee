// SPDX-License-Identifier: Apache-2.0
// What cp.reduce.async.bulk does to the elements of global memory.
#pragma once

#include <cstdint>

#include "../ir/module.h"
#include "../mem/tensor_map.h"

namespace emu {

// Each element of `to` becomes what the operation makes of it and of that of `from`, one atomic access for each.
using BulkReduction = void (*)(void* to, const void* from, uint32_t bytes);
BulkReduction bulk_reduction(unsigned operation, uint8_t type); // nullptr: the type has no such operation
unsigned bulk_operation(const Form& form);                      // the one that an instruction names
TensorMap::Type element_of(Type type);                          // of a reduction without a tensor map

} // namespace emu

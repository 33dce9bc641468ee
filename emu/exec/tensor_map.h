// SPDX-License-Identifier: Apache-2.0
// Tensor maps as kernels see them: at a generic address that a lane has.
#pragma once

#include "../mem/tensor_map.h"
#include "warp.h"

namespace emu {

// Reads the map in global or constant memory or among the parameters; it is sound and can be emulated. False after a
// report.
bool read_tensor_map(Warp& w, int lane, uint64_t address, TensorMap& map);

// The 128 bytes of one in global or constant memory, whatever they are. nullptr after a report.
const void* tensor_map_in_memory(Warp& w, int lane, uint64_t address);

} // namespace emu

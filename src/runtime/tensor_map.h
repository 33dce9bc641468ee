// SPDX-License-Identifier: Apache-2.0
// What bulk copies are told of a tensor. Encoded by the driver into a parameter of a launch; nothing is allocated.
#pragma once

#include "dispatch/kernel.h"
#include "runtime/driver.h"

namespace spark {

// A tensor of elements without gaps along dimension 0, and the box of it that a copy moves. What of a box lies outside
// of the tensor is read as zeros and not written.
struct TensorTile {
    static constexpr uint32_t MAX_RANK = 5;

    uint64_t data; // a multiple of 16
    uint32_t elem_bytes, rank;
    uint64_t shape[MAX_RANK];
    uint64_t stride[MAX_RANK - 1]; // bytes, of dimension 1 and up; multiples of 16
    uint32_t box[MAX_RANK];        // at most 256 each; a row of it is a multiple of 16 bytes
    uint32_t swizzle;              // bytes of shared memory over which 16-byte units are exchanged: 0, 32, 64 or 128
};

// The driver's code.
int encode(const Driver& d, const TensorTile& tile, TensorMap& map);

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// TensorTile in the words of the driver.
#include "runtime/tensor_map.h"

#include <bit>

namespace spark {

int encode(const Driver& d, const TensorTile& tile, TensorMap& map) {
    constexpr unsigned UNSIGNED[] = {0, 1, 2, 4}; // of CUtensorMapDataType, by size: copies look at bits alone
    constexpr uint32_t NEIGHBOURS[TensorTile::MAX_RANK] = {1, 1, 1, 1, 1};
    // Whole lines of 128 bytes come from memory, where a box is half as wide: the next one is in L2 then.
    constexpr unsigned INTERLEAVE_NONE = 0, PROMOTION_128 = 2, FILL_ZEROS = 0, LEAST_SWIZZLE = 32;
    return d.tensor_map(&map, UNSIGNED[std::countr_zero(tile.elem_bytes) & 3], tile.rank,
                        reinterpret_cast<void*>(tile.data), tile.shape, tile.stride, tile.box, NEIGHBOURS,
                        INTERLEAVE_NONE, static_cast<unsigned>(std::bit_width(tile.swizzle / LEAST_SWIZZLE)),
                        PROMOTION_128, FILL_ZEROS);
}

} // namespace spark

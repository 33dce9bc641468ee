// SPDX-License-Identifier: Apache-2.0
// One box of a tensor: which of its elements lie where in global memory, and where a copy has them in shared memory.
// Knows tensor maps and addresses; knows nothing of warps, and reads no memory.
#pragma once

#include <vector>

#include "../mem/tensor_map.h"
#include "bulk.h"

namespace emu {

// The elements of a box that follow each other in dimension 0, as bytes.
struct BoxRow {
    int64_t at[TensorMap::DIMS] = {}; // coordinates of its first element
    uint64_t global = 0;              // address of its first byte, wherever that is
    uint32_t first = 0, last = 0;     // of its bytes lie in the tensor
};

class TensorBox {
public:
    TensorBox(const TensorMap& map, const int32_t* corner);
    // Of a matrix: the rows whose numbers follow the column.
    static TensorBox gather4(const TensorMap& map, const int32_t* column_and_rows);
    const std::vector<BoxRow>& rows() const { return rows_; } // as they follow each other in shared memory
    // The swizzle depends on the address alone, not on where in the box the bytes lie.
    std::vector<BulkPiece> pieces(uint32_t shared) const;

private:
    explicit TensorBox(const TensorMap& map) : map_(map) {}
    BoxRow row(uint32_t number, const int32_t* corner) const;

    const TensorMap& map_;
    std::vector<BoxRow> rows_;
};

} // namespace emu

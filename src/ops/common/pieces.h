// SPDX-License-Identifier: Apache-2.0
// Rows cut into pieces, as kernels count them (ptx/lib/tile/piece.ptxh): all pieces in 31 bits, and the piece of a row
// by a division that is a product.
#pragma once

#include <cstdint>

#include "core/divide.h"

namespace spark {

struct Pieces {
    int64_t part, parts; // elements of one, and how many a row has
    uint32_t by, shift;  // 2 x by >> 32 + shift is x / parts for x below 2^31
};

// A number of pieces of a row.
constexpr Pieces pieces_of(int64_t part, int64_t parts) {
    uint32_t shift = 0;
    while (int64_t{1} << shift < parts) ++shift;
    return {part, parts, static_cast<uint32_t>(ceil_div(int64_t{1} << (31 + shift), parts)), shift};
}

// Pieces of `part` elements of n, or of so much more that all of `rows` rows can be counted; rows that are too many by
// themselves stay whole.
constexpr Pieces cut_rows(int64_t n, int64_t rows, int64_t part) {
    while (part < n && ceil_div(n, part) * rows >= int64_t{1} << 31) part *= 2;
    return pieces_of(part, ceil_div(n, part));
}

} // namespace spark

// SPDX-License-Identifier: Apache-2.0
// Which byte of a register stmatrix stores where. For its handlers, and for checks that compare what is stored.
#pragma once

#include "warp.h"

namespace emu {

// Inst::sub of ldmatrix and stmatrix.
enum MatrixKind : uint8_t {
    matrix_wide = 1,       // the address is a 64-bit register
    matrix_transposed = 2, // stmatrix .trans of 16-bit elements
    matrix_bytes = 4,      // stmatrix of bytes, which is always transposed
};

struct MatrixByte {
    uint16_t slot;
    uint8_t lane, byte;
};

// Byte i of the row that lane `row` names.
inline MatrixByte matrix_byte(const Inst& in, unsigned row, unsigned i) {
    const uint16_t slot = in.r[1 + row / 8];
    const unsigned r = row % 8;
    if (in.sub & matrix_bytes) return {slot, uint8_t(i % 8 * 4 + r / 2), uint8_t(r % 2 + i / 8 * 2)};
    if (in.sub & matrix_transposed) return {slot, uint8_t(i / 2 * 4 + r / 2), uint8_t(r % 2 * 2 + i % 2)};
    return {slot, uint8_t(4 * r + i / 4), uint8_t(i % 4)};
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// Rows of a box, and their pieces after the swizzle.
#include "tensor_box.h"

#include <algorithm>

namespace emu {
namespace {

constexpr uint32_t CHUNK = 16; // what a swizzle moves
constexpr uint64_t NOWHERE = 1ull << 62;

// Chunks of 16 bytes change places inside 32, 64 or 128 bytes, by the number of the 128 bytes that they lie in.
uint32_t swizzled(uint32_t address, uint8_t swizzle) {
    const uint32_t lines = (1u << swizzle) - 1; // 0, 1, 3, 7
    return address ^ (address >> 7 & lines) << 4;
}
} // namespace

TensorBox::TensorBox(const TensorMap& map, const int32_t* corner) : map_(map) {
    uint32_t rows = 1;
    for (unsigned d = 1; d < map.rank; ++d) rows *= map.copied(d);
    rows_.reserve(rows);
    for (uint32_t i = 0; i < rows; ++i) rows_.push_back(row(i, corner));
}

TensorBox TensorBox::gather4(const TensorMap& map, const int32_t* column_and_rows) {
    TensorBox box(map);
    for (unsigned i = 1; i <= 4; ++i) {
        const int32_t corner[] = {column_and_rows[0], column_and_rows[i]};
        box.rows_.push_back(box.row(0, corner));
    }
    return box;
}

BoxRow TensorBox::row(uint32_t number, const int32_t* corner) const {
    BoxRow r;
    unsigned __int128 far = 0; // a box that is far away leaves 64 bits
    bool inside = true;
    for (unsigned d = 1; d < map_.rank; ++d) {
        r.at[d] = corner[d] + int64_t(number % map_.copied(d)) * map_.step[d];
        number /= map_.copied(d);
        inside &= r.at[d] >= 0 && uint64_t(r.at[d]) < map_.dim[d];
        if (inside) far += static_cast<unsigned __int128>(map_.stride[d - 1]) * uint64_t(r.at[d]);
    }
    r.at[0] = corner[0];
    if (!inside) return r;
    const int64_t bytes = map_.element_bytes(), begin = r.at[0] * bytes, end = int64_t(map_.dim[0]) * bytes;
    const auto in_row = [&](int64_t byte) { return uint32_t(std::clamp<int64_t>(byte - begin, 0, map_.row_bytes())); };
    r.first = in_row(0);
    r.last = std::max(r.first, in_row(end));
    r.global = map_.address + uint64_t(std::min<unsigned __int128>(far, NOWHERE)) + uint64_t(begin);
    return r;
}

std::vector<BulkPiece> TensorBox::pieces(uint32_t shared) const {
    const uint32_t row_bytes = map_.row_bytes(), size = map_.swizzle ? CHUNK : row_bytes;
    std::vector<BulkPiece> pieces;
    pieces.reserve(rows_.size() * (row_bytes / size));
    for (const BoxRow& r : rows_) {
        for (uint32_t i = 0; i < row_bytes; i += size) {
            const auto in_piece = [&](uint32_t byte) { return std::clamp(byte, i, i + size) - i; };
            pieces.push_back(
                {r.global + i, swizzled(shared + i, map_.swizzle), size, in_piece(r.first), in_piece(r.last)});
        }
        shared += row_bytes;
    }
    return pieces;
}

} // namespace emu

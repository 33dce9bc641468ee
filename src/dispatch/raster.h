// SPDX-License-Identifier: Apache-2.0
// What memory reads for a matrix product, by how many rows of its tiles are walked together (docs/layouts.md draws the
// order): blocks in flight share rows of a and columns of b that L2 holds. Pure functions of numbers, for the plan of a
// product; held against a model of L2, entry by entry, in tests/dispatch/raster_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/divide.h"

namespace spark {

struct Raster {
    int64_t down, across; // tiles of d
    int64_t in_flight;    // tiles that the device makes at a time
    double row, column;   // bytes of a for a row of tiles, of b for a column of them
    double l2;            // bytes
};

// Bytes of a and b that come from memory. Of a group's rows of a the next columns find what L2 holds beside the columns
// that come between; of all of b the next group does, beside rows of both. A quarter of L2 is for what is not reused in
// order.
inline double raster_bytes(const Raster& r, int64_t group) {
    const int64_t rows = std::min(group, r.down), groups = ceil_div(r.down, rows);
    const int64_t columns = std::clamp<int64_t>(quotient(r.in_flight, rows), 1, r.across);
    const double held = static_cast<double>(rows) * r.row, room = r.l2 * 3 / 4;
    const double a = static_cast<double>(r.down) * r.row, b = static_cast<double>(r.across) * r.column;
    const bool a_stays = held + static_cast<double>(columns) * r.column <= room, b_stays = b + 2 * held <= room;
    const double waves = a_stays ? 1
                                 : std::max(1.0, static_cast<double>(r.across) * static_cast<double>(rows) /
                                                     static_cast<double>(r.in_flight));
    return a * waves + b * (b_stays ? 1 : static_cast<double>(groups));
}

// Rows of tiles to be walked together: `square`, by which a wave's blocks read least through L2, but where memory then
// reads more than `hidden` bytes and reads much less in another number of groups.
inline uint32_t raster_group(const Raster& r, uint32_t square, double hidden) {
    constexpr int64_t MOST_GROUPS = 8;
    double least = raster_bytes(r, square);
    if (least <= hidden) return square;
    least *= 15.0 / 16;
    int64_t best = square;
    for (int64_t groups = 1; groups <= MOST_GROUPS; ++groups) {
        const int64_t rows = ceil_div(r.down, groups);
        const double bytes = raster_bytes(r, rows);
        if (bytes < least) least = bytes, best = rows;
    }
    return static_cast<uint32_t>(std::min<int64_t>(best, UINT32_MAX));
}

} // namespace spark

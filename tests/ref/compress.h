// SPDX-License-Identifier: Apache-2.0
// Oracle of compress: two of four numbers of 16 or 8 bits, and their places; and what has them multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ref {

// Places p0 < p1 of those with the largest bits below the sign, of equals the earlier ones: p0 + 4 p1. bytes: of each.
unsigned places_of_two(std::span<const uint64_t> four, size_t bytes);

// Where element i of what is kept stood in its row, from the row's bytes of places: i = 0, 1 of the first four.
size_t kept_place(std::span<const uint8_t> kept, size_t i);

} // namespace ref

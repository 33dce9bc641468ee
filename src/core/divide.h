// SPDX-License-Identifier: Apache-2.0
// Division of numbers that are never negative, where it is done in every launch: numbers of 32 bits, which nearly all
// are, take the short instruction; the long one costs older processors several times as much.
#pragma once

#include <bit>
#include <cstdint>

namespace spark {

template <class Int> constexpr Int quotient(Int a, Int b) {
    const bool is_short = static_cast<uint64_t>(a | b) >> 32 == 0;
    return is_short ? static_cast<Int>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b)) : a / b;
}

constexpr int64_t ceil_div(int64_t a, int64_t b) {
    const int64_t whole = quotient(a, b);
    return whole + (whole * b != a);
}

// The same by a power of two.
constexpr int64_t ceil_shift(int64_t a, uint32_t power_of_two) {
    return (a + power_of_two - 1) >> std::countr_zero(power_of_two);
}

} // namespace spark

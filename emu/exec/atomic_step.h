// SPDX-License-Identifier: Apache-2.0
// What atomics and reductions make of a word, and how they change it as one access.
#pragma once

#include <cmath>
#include <type_traits>

#include "half.h"

namespace emu::EMU_LEVEL {

enum class Do : uint8_t { add, min, max, exch, and_, or_, xor_, inc, dec, cas };
constexpr std::string_view DO_NAMES[] = {"add", "min", "max", "exch", "and", "or", "xor", "inc", "dec", "cas"};
// Which of them an instruction names.
inline Do named_in(const Form& form) {
    uint8_t op = 0;
    for (uint8_t i = 0; i < std::size(DO_NAMES); i++)
        if (form.has(DO_NAMES[i])) op = i;
    return Do(op);
}

template <class T> EMU_INLINE T step(Do op, T old, T a, T b) {
    switch (op) {
    case Do::add:
        if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(a));
        else {
            T sum = old + a;
            return sum == sum ? sum : T(NAN);
        }
    case Do::min: return a < old ? a : old;
    case Do::max: return a > old ? a : old;
    case Do::exch: return a;
    case Do::inc: return old >= a ? T(0) : T(old + 1);
    case Do::dec: return old == 0 || old > a ? a : T(old - 1);
    case Do::cas: return old == a ? b : old;
    default: break;
    }
    if constexpr (std::is_integral_v<T>) {
        if (op == Do::and_) return old & a;
        if (op == Do::or_) return old | a;
        if (op == Do::xor_) return old ^ a;
    }
    return old;
}

// A half; a NaN loses against a number.
template <bool BF> EMU_INLINE uint32_t step_half(Do op, uint32_t old, uint32_t a) {
    const float x = widen<BF>(old), y = widen<BF>(a);
    if (op == Do::add) return narrow<BF>(x + y);
    if (x != x || y != y) return x == x ? old & 0xffff : y == y ? a & 0xffff : 0x7fffu;
    const bool less = x < y || (x == y && (old & 0x8000)); // -0 is less than +0
    return (op == Do::min) == less ? old & 0xffff : a & 0xffff;
}

template <size_t BYTES>
using WordOf = std::conditional_t<BYTES == 8, uint64_t, std::conditional_t<BYTES == 4, uint32_t, uint16_t>>;

// Changes *at to f(*at) and returns what was there. Blocks may run on several host threads, so by compare-and-swap.
template <class Word, class F> Word update(void* at, F f) {
    auto* const p = static_cast<Word*>(at);
    Word seen = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(p, &seen, f(seen), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    return seen;
}

} // namespace emu::EMU_LEVEL

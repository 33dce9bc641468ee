// SPDX-License-Identifier: Apache-2.0
// The exact sum of mma.h, term by term: what mma.cpp and mma_any.cpp fall back on for outputs that vectors may not
// compute, and what decides every question.
#pragma once

#include "format.h"
#include "mma.h"

namespace emu::num {

constexpr int ZERO_EXPONENT = -4096; // of a zero: it never sets e_max

struct Term {
    Parts::Kind kind = Parts::Kind::finite;
    bool negative = false;
    uint64_t significand = 0; // times 2^(exponent - point)
    int exponent = ZERO_EXPONENT;
    int point = 0;
};
Term term_of(uint64_t bits, const Format& format);
Term multiply(const Term& x, const Term& y);
uint32_t sum_terms(const Term* terms, int count, int fraction, MmaOutput output);
// sum * 2^(top - fraction) as the output has it.
uint32_t finish_sum(int64_t sum, int top, int fraction, MmaOutput output);

} // namespace emu::num

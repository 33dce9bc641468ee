// SPDX-License-Identifier: Apache-2.0
// The tensor-core sum as mma.h writes it, one output at a time, and the choice of the vector code that suits this host.
// Called by the executor of mma. Knows nothing of PTX text or of lanes that are switched off.
#include "mma.h"

#include <bit>

#include "mma_terms.h"
#include "mma_tile.h"

namespace emu::num {

Term term_of(uint64_t bits, const Format& format) {
    const Parts parts = decode(bits, format);
    Term term;
    term.kind = parts.kind;
    term.negative = parts.negative;
    term.significand = parts.significand;
    term.point = format.mantissa_bits;
    if (parts.significand) term.exponent = parts.exponent + format.mantissa_bits;
    return term;
}

Term multiply(const Term& x, const Term& y) {
    using Kind = Parts::Kind;
    Term product;
    product.negative = x.negative != y.negative;
    if (x.kind != Kind::finite || y.kind != Kind::finite) {
        const bool nan = x.kind == Kind::nan || y.kind == Kind::nan || (x.kind == Kind::finite && !x.significand) ||
                         (y.kind == Kind::finite && !y.significand);
        product.kind = nan ? Kind::nan : Kind::infinite;
    }
    product.significand = x.significand * y.significand;
    product.exponent = product.significand ? x.exponent + y.exponent : ZERO_EXPONENT;
    product.point = x.point + y.point;
    return product;
}

namespace {

// significand * 2^(exponent - point) cut to a multiple of 2^(top - fraction), in units of that multiple.
int64_t cut(const Term& term, int top, int fraction) {
    const int shift = term.exponent - term.point - top + fraction;
    uint64_t magnitude = term.significand;
    if (shift >= 0) magnitude = shift > 63 ? 0 : magnitude << shift; // beyond: a sum of zeros, whose exponent is small
    else magnitude = -shift > 63 ? 0 : magnitude >> -shift;
    return term.negative ? -int64_t(magnitude) : int64_t(magnitude);
}

} // namespace

uint32_t finish_sum(int64_t sum, int top, int fraction, MmaOutput output) {
    Parts parts;
    parts.negative = sum < 0;
    parts.significand = uint64_t(sum < 0 ? -sum : sum);
    parts.exponent = top - fraction;
    EncodeHow how;
    if (output == MmaOutput::f16) {
        const uint64_t bits = encode(parts, F16, how);
        return (bits & 0x7fff) ? uint32_t(bits) : 0;
    }
    how.round = Round::zero;
    const int lead = 63 - std::countl_zero(parts.significand | 1) + parts.exponent;
    if (lead > 127) return parts.negative ? 0xff800000u : 0x7f800000u;
    const uint64_t bits = encode(parts, F32, how);
    return (bits & 0x7fffffff) ? uint32_t(bits) : 0;
}

uint32_t sum_terms(const Term* terms, int count, int fraction, MmaOutput output) {
    bool nan = false, positive = false, negative = false;
    int top = ZERO_EXPONENT;
    for (int i = 0; i < count; ++i) {
        nan |= terms[i].kind == Parts::Kind::nan;
        if (terms[i].kind == Parts::Kind::infinite) (terms[i].negative ? negative : positive) = true;
        if (terms[i].exponent > top) top = terms[i].exponent;
    }
    const Format& out = output == MmaOutput::f32 ? F32 : F16;
    if (nan || (positive && negative)) return uint32_t(out.nan);
    if (positive || negative) return uint32_t(out.infinity() | (negative ? out.sign_bit() : 0));
    int64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += cut(terms[i], top, fraction);
    return finish_sum(sum, top, fraction, output);
}

uint32_t mma_dot(const uint32_t* a, const uint32_t* b, int k, uint32_t c, MmaInput input, MmaOutput output) {
    const Format& in = input == MmaInput::bf16 ? BF16 : F16;
    Term terms[17];
    for (int i = 0; i < k; ++i) terms[i] = multiply(term_of(a[i], in), term_of(b[i], in));
    terms[k] = term_of(c, output == MmaOutput::f32 ? F32 : F16);
    return sum_terms(terms, k + 1, TILE_FRACTION, output);
}

uint32_t mma_exact(Planes a, Planes b, Planes c, int k, MmaInput input, MmaOutput output, int row, int column) {
    uint32_t x[16], y[16];
    for (int p = 0; p < k / 2; ++p) {
        const uint32_t left = a[2 * (p / 4) + row / 8][4 * (row % 8) + p % 4], right = b[p / 4][4 * column + p % 4];
        x[2 * p] = left & 0xffff, x[2 * p + 1] = left >> 16;
        y[2 * p] = right & 0xffff, y[2 * p + 1] = right >> 16;
    }
    const int lane = 4 * (row % 8) + column / 2;
    const bool wide = output == MmaOutput::f32;
    const uint32_t bits = wide ? c[2 * (row / 8) + column % 2][lane] : c[row / 8][lane] >> 16 * (column % 2) & 0xffff;
    return mma_dot(x, y, k, bits, input, output);
}

std::vector<TileLevel> tile_levels() {
    std::vector<TileLevel> levels;
#ifdef EMU_num_HAS_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        levels.push_back({"avx512", &avx512::tile_functions, &avx512::mufu_unit});
#endif
#ifdef EMU_num_HAS_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        levels.push_back({"avx2", &avx2::tile_functions, &avx2::mufu_unit});
#endif
    levels.push_back({"plain", &plain::tile_functions, &plain::mufu_unit});
    return levels;
}

TileFunction tile_function(const TileFunctions& of, int k, MmaInput input, MmaOutput output) {
    const bool bf16 = input == MmaInput::bf16, wide = output == MmaOutput::f32;
    if (k == 16) return bf16 ? of.bf16_k16 : wide ? of.f16_k16 : of.f16_f16_k16;
    return bf16 ? of.bf16_k8 : wide ? of.f16_k8 : of.f16_f16_k8;
}

bool is_tile(const MmaModel& model) { return model.fraction == TILE_FRACTION && model.group == 1; }

TileFunction best_tile(int k, MmaInput input, MmaOutput output) {
    static const TileFunctions& best = *tile_levels().front().functions;
    return tile_function(best, k, input, output);
}

void mma_m16n8(Planes a, Planes b, Planes c, PlanesOut d, int k, MmaInput input, MmaOutput output) {
    best_tile(k, input, output)(a, b, c, d);
}

} // namespace emu::num

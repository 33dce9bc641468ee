// SPDX-License-Identifier: Apache-2.0
// An mma of any kind: takes the fragments of all lanes apart into matrices, multiplies them as the kind says, and puts
// the result where the lanes expect it. Integers and f64 are exact or have one order; floats are summed by the model.
// Called by the executor of mma. Knows nothing of PTX text or of lanes that are switched off.
#include <bit>
#include <cmath>

#include "exact64.h"
#include "mma_terms.h"
#include "mma_tile.h"

namespace emu::num {
namespace {

using enum MmaInput;

// The bits of the elements of A by rows and of B by columns.
struct Dense {
    uint32_t a[16][64], b[8][64];
};

const Format* format_of(MmaInput input) {
    switch (input) {
    case bf16: return &BF16;
    case f16: return &F16;
    case tf32: return &TF32;
    case e4m3: return &E4M3;
    case e5m2: return &E5M2;
    case e2m3: return &E2M3;
    case e3m2: return &E3M2;
    case e2m1: return &E2M1;
    default: return nullptr;
    }
}

// Where an element stands in the bits that it takes: those above and below it are not looked at.
struct Place {
    unsigned bits, shift, used;
};
Place place_of(const MmaKind& kind, MmaInput input) {
    const unsigned bits = bits_of(kind, input);
    if (input == tf32) return {bits, 13, 19};
    if (input == e2m1 && !kind.packed) return {bits, 2, 4};
    return {bits, 0, input == e2m3 || input == e3m2 ? 6 : bits};
}

void unpack_a(const MmaKind& kind, Planes a, Dense& dense) {
    const Place place = place_of(kind, kind.a);
    const unsigned w = 32 / place.bits, halves = kind.rows / 8, count = registers_of_a(kind);
    const uint32_t mask = place.used == 32 ? ~0u : (1u << place.used) - 1;
    for (unsigned j = 0; j < count; ++j)
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned e = 0; e < w; ++e)
                dense.a[lane / 4 + 8 * (j % halves)][w * (lane % 4) + e + 4 * w * (j / halves)] =
                    a[j][lane] >> (place.bits * e + place.shift) & mask;
}

void unpack_b(const MmaKind& kind, Planes b, Dense& dense) {
    const Place place = place_of(kind, kind.b);
    const unsigned w = 32 / place.bits, count = registers_of_b(kind);
    const uint32_t mask = place.used == 32 ? ~0u : (1u << place.used) - 1;
    for (unsigned j = 0; j < count; ++j)
        for (unsigned lane = 0; lane < 32; ++lane)
            for (unsigned e = 0; e < w; ++e)
                dense.b[lane / 4][w * (lane % 4) + e + 4 * w * j] = b[j][lane] >> (place.bits * e + place.shift) & mask;
}

// --- integers ---

int32_t integer(uint32_t bits, MmaInput input) {
    return input == s8 ? int8_t(bits) : input == s4 ? int32_t(bits << 28) >> 28 : int32_t(bits);
}

// Registers of lane and column of C and D, for 32-bit results.
template <class F> void each_output(const MmaKind& kind, F f) {
    for (unsigned row = 0; row < kind.rows; ++row)
        for (unsigned column = 0; column < 8; ++column)
            f(row, column, 2 * (row / 8) + column % 2, 4 * (row % 8) + column / 2);
}

// Every result is stored after all operands were read: a register may be both.
void store(const MmaKind& kind, PlanesOut d, const uint32_t (&out)[16][8]) {
    each_output(kind, [&](unsigned row, unsigned column, unsigned reg, unsigned lane) {
        if (kind.output != MmaOutput::f16) d[reg][lane] = out[row][column];
        else if (column % 2 == 0) d[row / 8][lane] = out[row][column] | out[row][column + 1] << 16;
    });
}

void multiply_integers(const MmaKind& kind, Planes a, Planes b, Planes c, PlanesOut d) {
    Dense dense;
    uint32_t out[16][8];
    unpack_a(kind, a, dense);
    unpack_b(kind, b, dense);
    int32_t left[16][64], right[8][64]; // of what is no b1
    for (unsigned k = 0; k < kind.k && kind.a != b1; ++k) {
        for (unsigned row = 0; row < kind.rows; ++row) left[row][k] = integer(dense.a[row][k], kind.a);
        for (unsigned column = 0; column < 8; ++column) right[column][k] = integer(dense.b[column][k], kind.b);
    }
    const unsigned words = kind.k / 32u; // of b1
    each_output(kind, [&](unsigned row, unsigned column, unsigned reg, unsigned lane) {
        int64_t sum = int32_t(c[reg][lane]);
        if (kind.a == b1) {
            for (unsigned k = 0; k < words; ++k) {
                const uint32_t x = dense.a[row][k], y = dense.b[column][k];
                sum += std::popcount(kind.both ? x & y : x ^ y);
            }
        } else {
            int32_t products = 0; // of 64 at most, each below 2^16
            for (unsigned k = 0; k < kind.k; ++k) products += left[row][k] * right[column][k];
            sum += products;
        }
        if (kind.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
        out[row][column] = uint32_t(sum);
    });
    store(kind, d, out);
}

// --- f64: fused multiply-adds, one after the other ---

double double_at(const uint32_t* plane, unsigned lane) {
    return std::bit_cast<double>(uint64_t(plane[2 * lane + 1]) << 32 | plane[2 * lane]);
}

void multiply_doubles(const MmaKind& kind, Planes a, Planes b, Planes c, PlanesOut d) {
    double out[16][8];
    const unsigned halves = kind.rows / 8;
    each_output(kind, [&](unsigned row, unsigned column, unsigned reg, unsigned lane) {
        double sum = double_at(c[reg], lane);
        for (unsigned k = 0; k < kind.k; ++k) {
            const double x = double_at(a[row / 8 + halves * (k / 4)], 4 * (row % 8) + k % 4);
            const double y = double_at(b[k / 4], 4 * column + k % 4);
            sum = kind.round == Round::nearest_even ? std::fma(x, y, sum) : fma_f64(x, y, sum, kind.round);
        }
        out[row][column] = sum;
    });
    each_output(kind, [&](unsigned row, unsigned column, unsigned reg, unsigned lane) {
        const double v = out[row][column];
        const uint64_t bits = v == v ? std::bit_cast<uint64_t>(v) : F64.nan;
        d[reg][2 * lane] = uint32_t(bits), d[reg][2 * lane + 1] = uint32_t(bits >> 32);
    });
}

// --- floats ---

struct Value {
    double value;
    int16_t exponent;
    bool special;
};
Value value_of(uint64_t bits, const Format& format) {
    const uint64_t fields = (1ull << format.exponent_bits) - 1, field = bits >> format.mantissa_bits & fields;
    if (field != 0 && field != fields) { // no zero, no subnormal, and of no format a special value: as a double's bits
        const int exponent = int(field) - format.bias();
        const uint64_t fraction = bits & ((1ull << format.mantissa_bits) - 1);
        const uint64_t magnitude = uint64_t(exponent + 1023) << 52 | fraction << (52 - format.mantissa_bits);
        const uint64_t sign = bits & format.sign_bit() ? 1ull << 63 : 0;
        return {std::bit_cast<double>(sign | magnitude), int16_t(exponent), false};
    }
    const Term term = term_of(bits, format);
    if (term.kind != Parts::Kind::finite) return {0, NO_EXPONENT, true};
    const double magnitude = double(term.significand) * power_of_two(term.exponent - term.point);
    if (!term.significand) return {0, NO_EXPONENT, false};
    return {term.negative ? -magnitude : magnitude, int16_t(term.exponent), false};
}

// Values of a small format, by their bits.
struct Values {
    Value of[256];
    explicit Values(const Format& format) {
        for (unsigned bits = 0; bits < 256; ++bits) of[bits] = value_of(bits & (2 * format.sign_bit() - 1), format);
    }
};
// What bits of an input are worth.
class Reader {
public:
    explicit Reader(MmaInput input) : format_(*format_of(input)) {
        static const Values tables[] = {Values(E4M3), Values(E5M2), Values(E2M3), Values(E3M2), Values(E2M1)};
        if (input >= e4m3 && input <= e2m1) table_ = tables[unsigned(input) - unsigned(e4m3)].of;
    }
    Value operator()(uint32_t bits) const { return table_ ? table_[bits] : value_of(bits, format_); }

private:
    const Format& format_;
    const Value* table_ = nullptr;
};
// A scale as a term.
Term scale_term(uint32_t bits, MmaScale scale) {
    if (scale == MmaScale::ue4m3) return term_of(bits & 0x7f, E4M3);
    Term term;
    term.significand = 1;
    term.exponent = int(bits) - 127;
    if (bits == 0xff) term.kind = Parts::Kind::nan;
    return term;
}

// One product of matrices of floats, on its way.
class Floats {
public:
    Floats(const MmaKind& kind, const MmaModel& model, Planes a, Planes b, Planes c)
        : kind_(kind), model_(model), c_(c) {
        unpack_a(kind, a, dense_);
        unpack_b(kind, b, dense_);
    }
    void scales(const MmaScales& s) {
        for (unsigned row = 0; row < kind_.rows; ++row)
            for (unsigned i = 0; i < kind_.blocks; ++i)
                a_scale_[row][i] =
                    scale_term(s.a[4 * (row % 8) + 2 * s.a_thread + row / 8] >> 8 * (s.a_byte + i) & 0xff, kind_.scale);
        for (unsigned column = 0; column < 8; ++column)
            for (unsigned i = 0; i < kind_.blocks; ++i)
                b_scale_[column][i] =
                    scale_term(s.b[4 * column + s.b_thread] >> 8 * (s.b_byte + i) & 0xff, kind_.scale);
    }
    void run(PlanesOut d) {
        static const TileFunctions& best = *tile_levels().front().functions;
        uint32_t out[16][8];
        prepare();
        if (!special_) best.sum(m_);
        each_output(kind_, [&](unsigned row, unsigned column, unsigned, unsigned) {
            out[row][column] = special_ ? exact(row, column) : finish(m_.sum[row][column], m_.top[row][column]);
        });
        store(kind_, d, out);
    }

private:
    static constexpr unsigned MOST_TERMS = 65;
    uint32_t c_bits(unsigned row, unsigned column) const {
        const unsigned lane = 4 * (row % 8) + column / 2;
        if (kind_.output == MmaOutput::f32) return c_[2 * (row / 8) + column % 2][lane];
        return c_[row / 8][lane] >> 16 * (column % 2) & 0xffff;
    }
    const Format& output_format() const { return kind_.output == MmaOutput::f32 ? F32 : F16; }
    unsigned groups() const { return model_.group > 1 ? kind_.k / model_.group : 0; }
    unsigned block_of(unsigned group) const { return group * kind_.blocks / (groups() ? groups() : 1); }

    void prepare() {
        m_.rows = kind_.rows, m_.k = kind_.k, m_.fraction = model_.fraction, m_.groups = int(groups());
        const Reader of_a(kind_.a), of_b(kind_.b);
        for (unsigned row = 0; row < kind_.rows; ++row)
            for (unsigned k = 0; k < kind_.k; ++k) note(of_a(dense_.a[row][k]), m_.a[row][k], m_.a_exp[row][k]);
        for (unsigned column = 0; column < 8; ++column)
            for (unsigned k = 0; k < kind_.k; ++k)
                note(of_b(dense_.b[column][k]), m_.b[k][column], m_.b_exp[k][column]);
        for (unsigned row = 0; row < kind_.rows; ++row)
            for (unsigned column = 0; column < 8; ++column)
                note(value_of(c_bits(row, column), output_format()), m_.c[row][column], m_.c_exp[row][column]);
        const unsigned count = groups() ? groups() : 1;
        for (unsigned i = 0; i < count; ++i) {
            for (unsigned row = 0; row < kind_.rows; ++row)
                note(a_scale_[row][block_of(i)], m_.a_scale[row][i], m_.a_scale_exp[row][i]);
            for (unsigned column = 0; column < 8; ++column)
                note(b_scale_[column][block_of(i)], m_.b_scale[i][column], m_.b_scale_exp[i][column]);
        }
    }
    void note(const Value& v, double& value, int16_t& exponent) {
        value = v.value, exponent = v.exponent;
        special_ |= v.special;
    }
    // A scale: its significand and its exponent apart.
    void note(const Term& scale, double& significand, int16_t& exponent) {
        special_ |= scale.kind != Parts::Kind::finite;
        significand = double(scale.significand) * power_of_two(-scale.point);
        exponent = scale.significand ? int16_t(scale.exponent) : NO_EXPONENT;
    }

    // sum * 2^(top - fraction): normal f32 results by dropping the bits of a double.
    uint32_t finish(double sum, int top) const {
        const double value = sum * power_of_two(top - model_.fraction);
        const uint64_t bits = std::bit_cast<uint64_t>(value) & ~0x1fffffffull;
        const int field = int(bits >> 52 & 0x7ff);
        if (kind_.output == MmaOutput::f32 && field >= 1023 - 126 && field <= 1023 + 127)
            return std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
        return finish_sum(int64_t(sum), top, model_.fraction, kind_.output);
    }

    Term product(unsigned row, unsigned column, unsigned k) const {
        return multiply(term_of(dense_.a[row][k], *format_of(kind_.a)),
                        term_of(dense_.b[column][k], *format_of(kind_.b)));
    }
    // One output, term by term.
    uint32_t exact(unsigned row, unsigned column) const {
        Term terms[MOST_TERMS];
        int count = 0;
        if (!groups())
            for (unsigned k = 0; k < kind_.k; ++k) terms[count++] = scaled(product(row, column, k), row, column, 0);
        for (unsigned g = 0; g < groups(); ++g) terms[count++] = group_term(row, column, g);
        terms[count++] = term_of(c_bits(row, column), output_format());
        return sum_terms(terms, count, model_.fraction, kind_.output);
    }
    Term scaled(const Term& term, unsigned row, unsigned column, unsigned block) const {
        if (kind_.scale == MmaScale::none) return term;
        return multiply(term, multiply(a_scale_[row][block], b_scale_[column][block]));
    }
    // Packed e2m1: products are multiples of 1/4, whose sum is the significand; the exponent is that of the scales.
    Term group_term(unsigned row, unsigned column, unsigned g) const {
        int64_t quarters = 0;
        for (unsigned k = g * model_.group; k < (g + 1u) * model_.group; ++k)
            quarters += int64_t(m_.a[row][k] * m_.b[k][column] * 4);
        Term sum = multiply(a_scale_[row][block_of(g)], b_scale_[column][block_of(g)]);
        sum.significand *= uint64_t(quarters < 0 ? -quarters : quarters);
        sum.negative = quarters < 0;
        sum.point += 2;
        return sum;
    }

    const MmaKind& kind_;
    const MmaModel& model_;
    Planes c_;
    Dense dense_;
    static constexpr Term ONE{Parts::Kind::finite, false, 1, 0, 0};
    Term a_scale_[16][4] = {{ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE},
                            {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}};
    Term b_scale_[8][4] = {{ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}, {ONE}};
    MmaSum m_;
    bool special_ = false;
};

} // namespace

unsigned bits_of(const MmaKind& kind, MmaInput input) {
    switch (input) {
    case bf16:
    case f16: return 16;
    case tf32:
    case b1: return 32; // b1: words of 32 elements
    case f64: return 64;
    case s4:
    case u4: return 4;
    case e2m1: return kind.packed ? 4 : 8;
    default: return 8;
    }
}

unsigned registers_of_a(const MmaKind& kind) { return registers_of_b(kind) * (kind.rows / 8u); }

// 4 w elements of k a register of the warp.
unsigned registers_of_b(const MmaKind& kind) {
    if (kind.b == f64) return kind.k / 4u;
    const unsigned elements = kind.b == b1 ? 128 : 4 * (32 / bits_of(kind, kind.b));
    return kind.k / elements;
}

unsigned registers_of_c(const MmaKind& kind) { return (kind.output == MmaOutput::f16 ? 1 : 2) * (kind.rows / 8u); }

namespace {

// Two elements of each register as f16: of its lower half, or of its upper one.
using Plane = uint32_t[32];
void widen(Planes from, unsigned registers, MmaInput input, unsigned half, Plane* to, const uint32_t** planes) {
    const Format& format = input == e4m3 ? E4M3 : E5M2;
    for (unsigned r = 0; r < registers; ++r) {
        planes[r] = to[r];
        for (unsigned l = 0; l < 32; ++l) {
            const uint32_t two = from[r][l] >> (16 * half);
            to[r][l] = uint32_t(convert(two & 255, format, F16)) | uint32_t(convert(two >> 8 & 255, format, F16)) << 16;
        }
    }
}
uint32_t add_rounded(uint32_t x, uint32_t y, MmaOutput output) {
    if (output == MmaOutput::f32) {
        const float sum = std::bit_cast<float>(x) + std::bit_cast<float>(y);
        return sum == sum ? std::bit_cast<uint32_t>(sum) : 0x7fffffffu;
    }
    auto add = [](uint32_t a, uint32_t b) { return f16_from_f32(f32_from_f16(a) + f32_from_f16(b)); };
    return add(x & 0xffff, y & 0xffff) | add(x >> 16, y >> 16) << 16;
}

void multiply_by_halves(const MmaKind& kind, Planes a, Planes b, Planes c, PlanesOut d) {
    const unsigned of_a = registers_of_a(kind), of_b = registers_of_b(kind), of_c = registers_of_c(kind);
    Plane sum[4] = {}, halves_a[4], halves_b[2];
    const uint32_t *from_a[4], *from_b[2], *from_sum[4];
    uint32_t* to[4];
    for (unsigned i = 0; i < of_c; ++i) from_sum[i] = to[i] = sum[i];
    for (unsigned half = 0; half < 2; ++half) {
        widen(a, of_a, kind.a, half, halves_a, from_a);
        widen(b, of_b, kind.b, half, halves_b, from_b);
        mma_m16n8(from_a, from_b, from_sum, to, kind.k / 2, f16, kind.output);
    }
    for (unsigned i = 0; i < of_c; ++i)
        for (unsigned l = 0; l < 32; ++l) d[i][l] = add_rounded(c[i][l], sum[i][l], kind.output);
}

} // namespace

void mma_any(const MmaKind& kind, const MmaModel* model, Planes a, Planes b, Planes c, PlanesOut d,
             const MmaScales* scales) {
    if (kind.output == MmaOutput::s32) return multiply_integers(kind, a, b, c, d);
    if (kind.output == MmaOutput::f64) return multiply_doubles(kind, a, b, c, d);
    if (model->halves) return multiply_by_halves(kind, a, b, c, d);
    Floats floats(kind, *model, a, b, c);
    if (scales) floats.scales(*scales);
    floats.run(d);
}

} // namespace emu::num

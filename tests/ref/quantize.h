// SPDX-License-Identifier: Apache-2.0
// Oracle of quantize, and of its inverse: one block of numbers that share a scale, from the definition. Where the
// definition names an operation of FP32, that operation is done in double precision and rounded once to F32.
//   scale = max(amax, amax_floor) / largest;  q = sat(x / scale), x / infinity where the scale is 0;  y = scale * q
// NVFP4, with a second scale for all, whole = amax of all / 2688:
//   scale = |sat(amax / (6 * whole))|;  q = sat(x / (scale * whole));  y = whole * scale * q
#pragma once

#include "ref/call.h"
#include "ref/dequantize.h"
#include "ref/formats.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ref {

// Stochastic rounding: a random word of 16 bits decides between the two neighbours of a number in the format, `less`
// and `greater` in magnitude: greater where word + floor(2^16 (|x| - less) / (greater - less)) >= 2^16. No words: the
// nearest.
using Words = std::span<const uint16_t>;
std::vector<uint16_t> random_words(uint64_t seed, uint64_t offset, size_t count); // those of elements 0, 1, ..

// The nearest number of E4M3, ties to the even one; beyond 448, and infinity, 448; 0x7f for NaN. And the reverse.
uint8_t to_e4m3(double x);
double of_e4m3(uint8_t bits);

// The same of codes of a type: e4m3; e5m2, whose largest number is 57344; i8, 127 of either sign, which has 0 for NaN.
uint8_t to_code(Type codes, double x, Words word = {});
double of_code(Type codes, uint8_t bits);

// How a power of two is made of an amax: the largest one that is not above it, less emax; the least one under which it
// is not beyond the format's largest number; the first of these of the amax rounded to the format's bits. Of NVFP4: the
// better of two scales of a block.
enum class Rule { floor, rceil, even, four_over_six };

// rceil: the least power of two, from 2^-126 on, that is no less; 0 stays.
double scale_of(Type codes, double amax, double amax_floor, Rule rule = Rule::floor);

// An element of OCP's MX formats, by the bits of its exponent and of its fraction, behind a sign. Of these E4M3 alone
// has a NaN, in the place of its largest number. I2F6 is a whole number of 1 / 64, in two's complement: bits that stand
// before and behind the point.
struct MxElement {
    int exponent, fraction;
    bool fixed = false;
    bool operator==(const MxElement&) const = default;
};
constexpr MxElement MX_E4M3{4, 3}, MX_E2M1{2, 1};
// By its name, "E2M1"; nullptr: it is none.
const MxElement* mx_element(std::string_view name);
constexpr size_t bits_of(MxElement element) { return 1 + static_cast<size_t>(element.exponent + element.fraction); }

// The nearest of its numbers, ties to even; beyond the largest one, and infinity, and NaN, that, in I2F6 0 for NaN. And
// the reverse.
uint8_t to_mx(MxElement element, double x, Words word = {});
double of_mx(MxElement element, uint8_t bits);
void quantize_mx_block(MxElement element, std::span<const double> x, double scale, std::span<uint8_t> y,
                       Words words = {});

// 2^(floor(log2(amax)) - emax), from 2^-127 to 2^127, emax that of the largest number; infinity counts as 2^128; 0xff
// for NaN. And the reverse.
uint8_t mx_scale_of(double amax, MxElement element = MX_E4M3, Rule rule = Rule::floor);
double of_ue8m0(uint8_t bits);
void quantize_block(Type codes, std::span<const double> x, double scale, std::span<uint8_t> y, Words words = {});

// INT4: the scale of a block, amax / 7, as a number of its type; codes of I4, the nearest integers, 7 of either sign at
// most, NaN 0.
double int4_scale_of(Type stored, double amax, double amax_floor);
void quantize_int4_block(std::span<const double> x, double scale, std::span<uint8_t> y);
// NF4: the same, amax; codes are how many middles of the table's neighbours, in F32, the quotient is beyond.
double nf4_scale_of(Type stored, double amax, double amax_floor);
void quantize_nf4_block(std::span<const double> x, double scale, std::span<uint8_t> y);

double of_e2m1(uint8_t bits);

// NVFP4: the scale of all; that of a block, in UE4M3, 0x7f for NaN, and the number that such a byte is, whatever its
// highest bit.
double nv_whole_of(double amax);
uint8_t nv_scale_of(double amax, double whole);
// Four over six: of that scale and the one under which the amax is 4, the second where it leaves a smaller error.
uint8_t nv_better_scale_of(std::span<const double> x, double whole);
double of_ue4m3(uint8_t bits);
void quantize_nv_block(std::span<const double> x, uint8_t scale, double whole, std::span<uint8_t> y, Words words = {});

// y and scales of numbers of F32, of the shape of the call's tensor `like`, quantised as the call says: for operators
// whose result may be codes.
bool wants_codes(const Call& call);
Results codes_of(Call call, const char* like, std::vector<double> numbers);

// One record of Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0 of 32 numbers, by the formulas of docs/ops/quant.md. And a call of them.
void quantize_record(Record format, std::span<const double> x, uint8_t* record);
Results quantize_records(const Call& call);

// SPARK_SCALE_TILED_128X4: how many scales stand before that of block `column` of row `row`, with `columns` in a row;
// and how many places there are for `rows` rows.
int64_t place_in_tiles(int64_t row, int64_t column, int64_t columns);
int64_t size_of_tiles(int64_t rows, int64_t columns);

} // namespace ref

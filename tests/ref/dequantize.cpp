// SPDX-License-Identifier: Apache-2.0
// Oracle of dequantize; see the header for the definition. Of element i: its code, and the d and m of its block.
#include "ref/dequantize.h"

#include "ref/call.h"

#include "ref/formats.h"

#include <algorithm>
#include <cmath>

namespace ref {
namespace {

constexpr int IQ4[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int TWICE_E2M1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

double half(const uint8_t* at) { return load(Type::f16, at); }
int nibble(const uint8_t* codes, size_t byte, bool upper) { return upper ? codes[byte] / 16 : codes[byte] % 16; }
int bit(const uint8_t* bits, size_t i) { return bits[i / 8] >> i % 8 & 1; }

// Records of 32: the first half of the numbers stands in the lower nibbles.
double of_32(Record format, const uint8_t* r, size_t i) {
    const auto code = [&](size_t from) { return nibble(r + from, i % 16, i >= 16); };
    switch (format) {
    case Record::q8_0: return half(r) * static_cast<int8_t>(r[2 + i]);
    case Record::q4_0: return half(r) * (code(2) - 8);
    case Record::q4_1: return half(r) * code(4) + half(r + 2);
    case Record::q5_0: return half(r) * (code(6) + 16 * bit(r + 2, i) - 16);
    case Record::q5_1: return half(r) * (code(8) + 16 * bit(r + 4, i)) + half(r + 2);
    case Record::iq4_nl: return half(r) * IQ4[code(2)];
    default: return std::ldexp(TWICE_E2M1[code(1)], r[0] - 128);
    }
}

// NVFP4: of 16 numbers the first half stands in the lower nibbles. The scale's highest bit says nothing, its NaN is 0.
double of_64(const uint8_t* r, size_t i) {
    const uint8_t scale = r[i / 16] % 128;
    const int code = nibble(r + 4 + i / 16 * 8, i % 8, i % 16 >= 8);
    return (scale == 127 ? 0 : load(Type::e4m3, &scale) / 2) * TWICE_E2M1[code];
}

// Scale and minimum of block j of 8, six bits each, of Q4_K and Q5_K.
struct SixBits {
    int scale, minimum;
};
SixBits six_bits(const uint8_t* s, size_t j) {
    if (j < 4) {
        return {s[j] % 64, s[j + 4] % 64};
    }
    return {s[j + 4] % 16 + s[j - 4] / 64 * 16, s[j + 4] / 16 + s[j] / 64 * 16};
}

// Of Q3_K: block j of 16.
int signed_six_bits(const uint8_t* s, size_t j) {
    return nibble(s, j % 8, j >= 8) + 16 * (s[8 + j % 4] >> j / 4 * 2 & 3) - 32;
}

// Two bits of number i: four stand in a byte, 32 apart.
int two_bits(const uint8_t* codes, size_t i) { return codes[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3; }

double of_256(Record format, const uint8_t* r, size_t i) {
    switch (format) {
    case Record::q2_k: return half(r + 80) * (r[i / 16] % 16) * two_bits(r + 16, i) - half(r + 82) * (r[i / 16] / 16);
    case Record::q3_k:
        return half(r + 108) * signed_six_bits(r + 96, i / 16) *
               (two_bits(r + 32, i) + 4 * (r[i % 32] >> i / 32 & 1) - 4);
    case Record::q4_k:
    case Record::q5_k: {
        const SixBits block = six_bits(r + 4, i / 32);
        const bool fifth = format == Record::q5_k;
        const int code = nibble(r + (fifth ? 48 : 16), i / 64 * 32 + i % 32, i / 32 % 2 != 0);
        const int upper = fifth ? 16 * (r[16 + i % 32] >> i / 32 & 1) : 0;
        return half(r) * block.scale * (code + upper) - half(r + 2) * block.minimum;
    }
    case Record::q6_k:
        return half(r + 208) * static_cast<int8_t>(r[192 + i / 16]) *
               (nibble(r, i / 128 * 64 + i % 64, i / 64 % 2 != 0) + 16 * two_bits(r + 128, i) - 32);
    default: { // IQ4_XS
        const int scale = nibble(r + 4, i / 64, i / 32 % 2 != 0) + 16 * ((r[2] + 256 * r[3]) >> i / 32 * 2 & 3) - 32;
        return half(r) * scale * IQ4[nibble(r + 8, i / 32 * 16 + i % 16, i % 32 >= 16)];
    }
    }
}

} // namespace

const std::vector<RecordFormat>& record_formats() {
    static const std::vector<RecordFormat> formats = {
        {Record::q8_0, "Q8_0", 34, 32, 0, -1},
        {Record::q4_1, "Q4_1", 20, 32, 0, 2},
        {Record::q4_0, "Q4_0", 18, 32, 0, -1},
        {Record::q5_0, "Q5_0", 22, 32, 0, -1},
        {Record::q5_1, "Q5_1", 24, 32, 0, 2},
        {Record::q2_k, "Q2_K", 84, 256, 80, 82},
        {Record::q3_k, "Q3_K", 110, 256, 108, -1},
        {Record::q4_k, "Q4_K", 144, 256, 0, 2},
        {Record::q5_k, "Q5_K", 176, 256, 0, 2},
        {Record::q6_k, "Q6_K", 210, 256, 208, -1},
        {Record::iq4_nl, "IQ4_NL", 18, 32, 0, -1},
        {Record::iq4_xs, "IQ4_XS", 136, 256, 0, -1},
        {Record::gguf_mxfp4, "GGUF_MXFP4", 17, 32, -1, -1},
        {Record::gguf_nvfp4, "GGUF_NVFP4", 36, 64, -1, -1},
    };
    return formats;
}

const RecordFormat& format_of(Record record) {
    return *std::ranges::find(record_formats(), record, &RecordFormat::record);
}

double of_nf4(unsigned code) {
    constexpr double TABLE[16] = {-1.0,
                                  -0.6961928009986877,
                                  -0.5250730514526367,
                                  -0.39491748809814453,
                                  -0.28444138169288635,
                                  -0.18477343022823334,
                                  -0.09105003625154495,
                                  0.0,
                                  0.07958029955625534,
                                  0.16093020141124725,
                                  0.24611230194568634,
                                  0.33791524171829224,
                                  0.44070982933044434,
                                  0.5626170039176941,
                                  0.7229568362236023,
                                  1.0};
    return TABLE[code & 15];
}

int of_int4(unsigned code, bool is_signed) {
    const int low = static_cast<int>(code % 16);
    return is_signed && low >= 8 ? low - 16 : low;
}

std::vector<double> dequantize_record(Record format, const uint8_t* record) {
    std::vector<double> x(format_of(format).elements);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = x.size() == 32   ? of_32(format, record, i)
               : x.size() == 64 ? of_64(record, i)
                                : of_256(format, record, i);
    }
    return x;
}

std::vector<double> dequantize_records(Record format, const std::vector<uint64_t>& bytes) {
    const std::vector<uint8_t> records(bytes.begin(), bytes.end());
    std::vector<double> all;
    for (size_t at = 0; at < records.size(); at += format_of(format).bytes) {
        const auto numbers = dequantize_record(format, &records[at]);
        all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
}

static Results compute_dequantize(const Call& call) {
    return {{"y", {.values = dequantize_records(static_cast<Record>(call.number("format")), call["x"].bits)}}};
}

extern const Oracle DEQUANTIZE{"dequantize", compute_dequantize};

} // namespace ref

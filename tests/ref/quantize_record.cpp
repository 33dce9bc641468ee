// SPDX-License-Identifier: Apache-2.0
// Oracle of quantize for records; see quantize.h. Written from what GGUF's formats say of a record, one number after
// the other; each operation is rounded to F32 once.
#include "ref/quantize.h"

#include "ref/call.h"

#include <algorithm>
#include <cmath>

namespace ref {
namespace {

double f32(double x) { return rounded(Type::f32, x); }

// What numbers are multiplied by in place of a division by d.
double inverse(double d) {
    const double value = f32(1 / d);
    return std::isinf(value) ? 0 : value;
}

// The integer below x, which is not negative.
int cut(double x, int most) { return std::isnan(x) ? 0 : static_cast<int>(std::min(std::floor(x), 1.0 * most)); }

// The first number of the largest magnitude; NaN is larger than all.
double largest(std::span<const double> x) {
    double most = x[0];
    for (double value : x) {
        if (std::fabs(value) > std::fabs(most) || (std::isnan(value) && !std::isnan(most))) {
            most = value;
        }
    }
    return most;
}

// Nibbles as all records of 32 have them; above them, where codes have five bits, four bytes with the fifth.
void put_codes(std::span<const int> codes, bool fifth, uint8_t* nibbles) {
    std::fill_n(fifth ? nibbles - 4 : nibbles, fifth ? 20 : 16, uint8_t{0});
    for (size_t i = 0; i < codes.size(); ++i) {
        nibbles[i % 16] |= static_cast<uint8_t>(codes[i] % 16 << (i < 16 ? 0 : 4));
        if (fifth) {
            (nibbles - 4)[i / 8] |= static_cast<uint8_t>(codes[i] / 16 << i % 8);
        }
    }
}

void quantize_q8_0(std::span<const double> x, uint8_t* record) {
    const double d = f32(std::fabs(largest(x)) / 127), by = inverse(d);
    store(Type::f16, d, record);
    for (size_t i = 0; i < x.size(); ++i) {
        const double code = f32(x[i] * by);
        record[2 + i] = static_cast<uint8_t>(std::isnan(code) ? 0 : static_cast<int>(std::round(code)));
    }
}

} // namespace

void quantize_record(Record format, std::span<const double> x, uint8_t* record) {
    if (format == Record::q8_0) {
        return quantize_q8_0(x, record);
    }
    const bool fifth = format == Record::q5_0 || format == Record::q5_1;
    const bool offset = format == Record::q4_1 || format == Record::q5_1;
    const int codes_in_all = fifth ? 32 : 16, most = codes_in_all - 1;
    const auto [low, high] = std::ranges::minmax(x);
    const double m = std::isnan(largest(x)) ? std::nan("") : low == 0 ? 0 : low, range = f32(high - m);
    const double d = !offset ? f32(largest(x) / (-codes_in_all / 2)) : range == 0 ? 0 : f32(range / most);
    const double by = inverse(d);
    std::vector<int> codes;
    for (double value : x) {
        codes.push_back(offset ? cut(f32(f32(f32(value - m) * by) + 0.5), most)
                               : cut(f32(f32(value * by) + codes_in_all / 2 + 0.5), most));
    }
    store(Type::f16, d, record);
    if (offset) {
        store(Type::f16, m, record + 2);
    }
    put_codes(codes, fifth, record + format_of(format).bytes - 16);
}

Results quantize_records(const Call& call) {
    const Tensor& x = call["x"];
    const auto format = static_cast<Record>(call.number("format"));
    Result y;
    for (size_t first = 0; first < x.values.size(); first += 32) {
        std::vector<uint8_t> record(format_of(format).bytes);
        quantize_record(format, x.row(first, 32), record.data());
        y.bits.insert(y.bits.end(), record.begin(), record.end());
    }
    return {{"y", y}};
}

} // namespace ref

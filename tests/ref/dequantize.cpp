// SPDX-License-Identifier: Apache-2.0
// Oracle of dequantize; see the header for the definition.
#include "ref/dequantize.h"

#include "ref/call.h"

#include "ref/formats.h"

namespace ref {

size_t record_bytes(Record format) { return format == Record::q8_0 ? 2 + 32 : 2 + 2 + 16; }

std::array<double, RECORD_ELEMENTS> dequantize_record(Record format, const uint8_t* record) {
    std::array<double, RECORD_ELEMENTS> x{};
    const double d = load(Type::f16, record);
    for (size_t i = 0; i < RECORD_ELEMENTS; ++i) {
        if (format == Record::q8_0) {
            x[i] = d * static_cast<int8_t>(record[2 + i]);
        } else {
            const double m = load(Type::f16, record + 2);
            const int byte = record[4 + i % 16];
            x[i] = d * (i < 16 ? byte % 16 : byte / 16) + m;
        }
    }
    return x;
}

std::vector<double> dequantize_records(Record format, const std::vector<uint64_t>& bytes) {
    const std::vector<uint8_t> records(bytes.begin(), bytes.end());
    std::vector<double> all;
    for (size_t at = 0; at < records.size(); at += record_bytes(format)) {
        const auto numbers = dequantize_record(format, &records[at]);
        all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return all;
}

static Results compute(const Call& call) {
    return {{"y", {.values = dequantize_records(static_cast<Record>(call.number("format")), call["x"].bits)}}};
}

extern const Oracle DEQUANTIZE{"dequantize", compute};

} // namespace ref

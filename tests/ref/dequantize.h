// SPDX-License-Identifier: Apache-2.0
// Oracle of dequantize: one record, from the definition (docs/layouts.md). Every result is exact in double precision:
// the caller rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ref {

enum class Record { // the numbers that GGUF files use
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    iq4_nl = 20,
    iq4_xs = 23,
    gguf_mxfp4 = 39,
    gguf_nvfp4 = 40
};

// What is the same for all records of a format. d_at, m_at: where its halves d and m (of K formats dmin) stand, in
// bytes; -1: it has none.
struct RecordFormat {
    Record record;
    const char* name;
    size_t bytes, elements;
    int d_at, m_at;
};
const std::vector<RecordFormat>& record_formats();
const RecordFormat& format_of(Record record);

// A code of I4 or U4, the lower half of a byte; INT4 is scale * (of_int4(code) - zero).
int of_int4(unsigned code, bool is_signed);
// NF4: the table's number, all of F32, of bitsandbytes' create_normal_map.
double of_nf4(unsigned code);

std::vector<double> dequantize_record(Record format, const uint8_t* record);
// All records of a tensor, whose bytes these are.
std::vector<double> dequantize_records(Record format, const std::vector<uint64_t>& bytes);

} // namespace ref

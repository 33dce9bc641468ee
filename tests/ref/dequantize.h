// SPDX-License-Identifier: Apache-2.0
// Oracle of dequantize: one record, from the definition. Every result is exact in double precision: the caller rounds.
//   Q8_0   d (f16), q[32] (signed bytes)             x[i] = d q[i]
//   Q4_1   d (f16), m (f16), b[16] (bytes)           x[i] = d (b[i] mod 16) + m,  x[i + 16] = d (b[i] div 16) + m
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ref {

enum class Record { q4_1 = 3, q8_0 = 8 }; // the numbers that GGUF files use

constexpr size_t RECORD_ELEMENTS = 32;
size_t record_bytes(Record format);

std::array<double, RECORD_ELEMENTS> dequantize_record(Record format, const uint8_t* record);
// All records of a tensor, whose bytes these are.
std::vector<double> dequantize_records(Record format, const std::vector<uint64_t>& bytes);

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// The cases of quantize that write records, which quantize.cpp puts beside its own.
#pragma once

#include "check/random.h"
#include "ops/families.h"
#include "ref/dequantize.h"

namespace check {

void quantize_records(std::vector<Entry>& out);
Entry random_quantize_records(Random& r, const std::string& name);
// Behind "rows=3 n=64 BF16", if the next word is such a record; nullptr: it is none.
const ref::RecordFormat* worded_record(Words& words);
Entry worded_quantize_records(const ref::RecordFormat& format, ref::Type type, int64_t rows, int64_t n,
                              const std::string& name);

} // namespace check

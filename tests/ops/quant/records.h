// SPDX-License-Identifier: Apache-2.0
// The cases of quantize that write records, which quantize.cpp puts beside its own.
#pragma once

#include "check/random.h"
#include "ops/families.h"
#include "ref/dequantize.h"

namespace check::records {

void named(std::vector<Entry>& out);
Entry random(Random& r, const std::string& name);
// Behind "rows=3 n=64 BF16", if the next word is such a record; nullptr: it is none.
const ref::RecordFormat* taken(Words& words);
Entry worded(const ref::RecordFormat& format, ref::Type type, int64_t rows, int64_t n, const std::string& name);

} // namespace check::records

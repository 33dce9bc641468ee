// SPDX-License-Identifier: Apache-2.0
// Oracle of repack: one code of four bits.
#pragma once

#include <cstdint>

namespace ref {

// Of a word's eight codes the one of that column, 0 to 7, plus `plus`, modulo 16. Its place, the lowest bits being 0,
// is the column, or where the places hold columns 0 2 4 6 1 3 5 7 (interleaved) the one that holds it.
unsigned repacked(uint32_t word, int column, bool interleaved, unsigned plus);

} // namespace ref

// SPDX-License-Identifier: Apache-2.0
// Oracle of cast: one element, from the definition: rounded once to the type of y. Bits are copied between equal types.
#pragma once

#include "ref/formats.h"

namespace ref {

// The bits of y. A NaN of another type becomes some NaN.
uint64_t cast(Type from, Type to, uint64_t bits);

} // namespace ref

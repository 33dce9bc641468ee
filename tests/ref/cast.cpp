// SPDX-License-Identifier: Apache-2.0
// Oracle of cast; see the header for the definition.
#include "ref/cast.h"

namespace ref {

uint64_t cast(Type from, Type to, uint64_t bits) { return from == to ? bits : encode(to, decode(from, bits)); }

} // namespace ref

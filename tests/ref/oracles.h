// SPDX-License-Identifier: Apache-2.0
// The oracle of every operator of the library (call.h): without one an operator does not link.
#pragma once

#include "ref/call.h"

namespace ref {

#define OPERATOR(name) extern const Oracle name;
#include "ops/operators.inc"
#undef OPERATOR

} // namespace ref

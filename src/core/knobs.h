// SPDX-License-Identifier: Apache-2.0
// The environment variables of knobs.inc, read once.
#pragma once

namespace spark {

struct Knobs {
#define KNOB(field, variable, meaning) const char* field; // nullptr or empty = not set
#include "core/knobs.inc"
#undef KNOB
};

const Knobs& knobs();

} // namespace spark

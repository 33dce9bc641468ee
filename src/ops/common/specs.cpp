// SPDX-License-Identifier: Apache-2.0
// The list of all descriptions, in the order of operator numbers.
#include "ops/common/spec.h"

namespace spark {

#define OPERATOR(name) extern const OpSpec name##_SPEC;
#include "ops/operators.inc"
#undef OPERATOR

namespace {

constexpr const OpSpec* SPECS[] = {
#define OPERATOR(name) &name##_SPEC,
#include "ops/operators.inc"
#undef OPERATOR
};

} // namespace

std::span<const OpSpec* const> op_specs() { return SPECS; }

const OpSpec* find_spec(uint32_t op) {
    for (const OpSpec* spec : SPECS) {
        if (spec->desc->op == op) return spec;
    }
    return nullptr;
}

} // namespace spark

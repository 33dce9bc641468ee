// SPDX-License-Identifier: Apache-2.0
// The reflection tables as the library itself uses them: the public description of each operator, plus its shapes
// parsed. Written out by tools/specgen for each family; read by the validator and the API.
#pragma once

#include <spark.h>

#include <span>

#include "core/status.h"

namespace spark {

// One entry of a shape such as [B?, M, 1] or [..., N].
struct Dim {
    enum Kind : uint8_t { symbol, optional, rest, literal };
    Kind kind;
    int32_t value;       // index into OpSpec::symbols, or the literal
    uint32_t halved = 0; // of spark_args.flags: where it is set, half of the symbol
};

constexpr uint32_t MAX_FIELDS = 48;
constexpr uint32_t MAX_SYMBOLS = 16;
constexpr uint32_t MAX_ARGS_SIZE = 8192;

struct OpSpec {
    const spark_op_desc* desc;
    std::span<const spark_field> fields;
    std::span<const std::span<const Dim>> dims;               // one per field, empty for scalars
    std::span<const std::span<const spark_quant_form>> forms; // one per field, empty where it takes no quant
    std::span<const char* const> symbols;
};

std::span<const OpSpec* const> op_specs();
const OpSpec* find_spec(uint32_t op); // or nullptr

} // namespace spark

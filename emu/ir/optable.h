// SPDX-License-Identifier: Apache-2.0
// Reads the grammar strings of opcodes.inc. Used by ir/build.cpp when it decodes an instruction.
#pragma once

#include <span>

#include "module.h"

namespace emu {

struct OperandSpec {
    bool dst = false, wider = false, optional = false, pair = false;
    enum Shape : uint8_t { one, vec, xvec, parts, fixed, address, label, immediate, predicate } shape = one;
    unsigned count = 1;    // of fixed
    std::string_view type; // "T" "U" "V" "W" or a name
};

// The rows of a mnemonic, in the order of the table.
std::span<const OpRow* const> op_rows_named(std::string_view mnemonic);
// Does the row accept these modifiers?
bool grammar_accepts(std::string_view grammar, const std::vector<std::string_view>& mods);
std::vector<OperandSpec> operand_specs(std::string_view operands);
// The handler chooser of a family ("alu"), for the instruction-set level of this host; nullptr: not built.
Pick family_named(std::string_view name);

} // namespace emu

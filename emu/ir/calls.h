// SPDX-License-Identifier: Apache-2.0
// What calls.cpp and indirect.cpp make up in the place of a call: names that no text can spell, and branches to them.
#pragma once

#include "builder.h"

namespace emu {

constexpr const char* AFTER = "the call's end";

inline text::Operand named(std::string_view id, text::Operand::Kind kind = text::Operand::name) {
    text::Operand o;
    o.kind = kind;
    o.id = id;
    return o;
}
inline text::Instruction branch_to(const char* label) {
    text::Instruction in;
    in.opcode = "bra";
    in.operands.push_back(named(label));
    return in;
}

} // namespace emu

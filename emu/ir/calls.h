// SPDX-License-Identifier: Apache-2.0
// What calls.cpp and indirect.cpp make up in the place of a call: names that no text can spell, and branches to them.
#pragma once

#include "builder.h"

namespace emu {

constexpr const char* AFTER = "the call's end";
constexpr const char* RETURN = "the return"; // where a function goes back to
constexpr const char* STACK = "the stack";   // where its free part begins
constexpr const char* WORD = "a word";       // on its way to memory or from there
constexpr const char* LONG = "a long word";
constexpr const char* MOVED = "a register"; // another each time
constexpr uint64_t STACK_UNIT = 64;         // that frames and alloca take

inline text::Operand named(std::string_view id, text::Operand::Kind kind = text::Operand::name) {
    text::Operand o;
    o.kind = kind;
    o.id = id;
    return o;
}
inline text::Operand constant_operand(uint64_t value) {
    text::Operand o;
    o.kind = text::Operand::integer;
    o.value = value;
    return o;
}
inline text::Instruction made(std::string opcode, std::vector<text::Operand> operands) {
    text::Instruction in;
    in.opcode = std::move(opcode);
    in.operands = std::move(operands);
    return in;
}
inline text::Instruction branch_to(const char* label) {
    text::Instruction in;
    in.opcode = "bra";
    in.operands.push_back(named(label));
    return in;
}

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// A thread's stack, for kernels that need one: alloca takes from it, and recursive calls lay their frames there
// (recursion.cpp). It is a variable in local memory that every such kernel has once, and a register that says where
// the free part begins, always at a multiple of 64 bytes.
#include <algorithm>

#include "../engine_limits.h"
#include "calls.h"

namespace emu {
namespace {
bool is_alloca(const text::Instruction& in) { return in.opcode.starts_with("alloca"); }
} // namespace

uint16_t Builder::hide(const std::string& name, VirtualReg reg) {
    reg.name = name;
    const uint16_t number = add_reg(std::move(reg));
    hidden_.regs[name] = number;
    return number;
}

// Before the kernel's statements, if anything in the text may ask for a stack.
void Builder::begin_stack() {
    if (!calls_.may_need_stack()) return;
    stack_from_ = hide("the stack's place", {"", Type::b64, 2, VirtualReg::constant, 0});
    hide(STACK, {"", Type::b64, 2, VirtualReg::declared, 0});
    hide(WORD, {"", Type::b32, 1, VirtualReg::declared, 0});
    hide(LONG, {"", Type::b64, 2, VirtualReg::declared, 0});
    instruction(made("mov.b64", {named(STACK), named("the stack's place")}), function_.place);
}

// After them: its place behind all other local variables.
void Builder::end_stack() {
    if (!uses_stack_) return;
    text::Variable stack;
    stack.place = function_.place;
    stack.name = STACK;
    Variable var;
    var.name = STACK;
    var.align = STACK_UNIT;
    var.bytes = limits::STACK_BYTES;
    var.space = Space::local;
    if (!place(stack, var, local_bytes_, limits::LOCAL_BYTES, "local")) return;
    keep_local_apart(var);
    regs_[stack_from_].bits = var.address;
}

bool Subroutines::may_need_stack() {
    if (needs_stack_ < 0) {
        find_recursive();
        needs_stack_ = !recursive_.empty();
        for (const auto* functions : {&ast_.functions, &ast_.subroutines})
            for (const text::Function& f : *functions) needs_stack_ |= takes_stack(f);
    }
    return needs_stack_;
}
bool Subroutines::takes_stack(const text::Function& f) {
    return std::any_of(f.instructions.begin(), f.instructions.end(), is_alloca);
}

// alloca, stacksave, stackrestore. False: it is none of them.
bool Builder::stack_statement(const text::Instruction& in, text::Place place) {
    const bool takes = in.opcode == "alloca.u64", saves = in.opcode == "stacksave.u64",
               restores = in.opcode == "stackrestore.u64";
    if (!takes && !saves && !restores) return false;
    uses_stack_ = true;
    opcode_ = in.opcode;
    const size_t operands = in.operands.size();
    if (operands < (takes ? 2u : 1u) || operands > (takes ? 3u : 1u))
        return refuse("takes another number of operands than " + std::to_string(operands)), true;
    if (operands == 3 && (in.operands[2].kind != text::Operand::integer || in.operands[2].value > STACK_UNIT))
        return refuse("an alignment here is at most " + std::to_string(STACK_UNIT)), true;
    auto emit = [&](const char* opcode, std::vector<text::Operand> all) {
        text::Instruction one = made(opcode, std::move(all));
        one.guard = in.guard;
        one.guard_not = in.guard_not;
        instruction(one, place);
    };
    if (saves) emit("mov.b64", {in.operands[0], named(STACK)});
    if (restores) emit("mov.b64", {named(STACK), in.operands[0]});
    if (!takes) return true;
    emit("add.u64", {named(LONG), in.operands[1], constant_operand(STACK_UNIT - 1)});
    emit("and.b64", {named(LONG), named(LONG), constant_operand(~uint64_t(STACK_UNIT - 1))});
    emit("mov.b64", {in.operands[0], named(STACK)});
    emit("add.u64", {named(STACK), named(STACK), named(LONG)});
    return true;
}

} // namespace emu

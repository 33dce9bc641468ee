// SPDX-License-Identifier: Apache-2.0
// Recursion. A function that may come back to itself stands once in the place of its outermost call, with its variables
// in a frame on the thread's stack (stack.cpp). A call from within puts the registers of the function, and of all that
// stands in it, on the stack, makes a new frame behind them, and goes to the function's beginning; which call a frame
// goes back to is a number in it. Frame: number of the call, then parameters, results and variables in the order in
// which they are declared.
#include <algorithm>

#include "calls.h"

namespace emu {
namespace {

uint64_t round_up(uint64_t v, uint64_t to) { return (v + to - 1) / to * to; }

text::Operand at(std::string_view base, uint64_t offset) {
    text::Operand o = named(base, text::Operand::address);
    o.value = offset;
    return o;
}

} // namespace

// --- which functions ---

// Those of a cycle of calls, and those between two cycles: what is left when all that call nothing left, or are called
// by nothing left, are taken away, again and again. A call through a register may be one of all that have an address.
void Subroutines::find_recursive() {
    const size_t any = ast_.subroutines.size();
    std::unordered_map<const text::Function*, size_t> number;
    for (size_t i = 0; i < any; i++) number[&ast_.subroutines[i]] = i;
    std::vector<std::vector<size_t>> calls(any + 1), callers(any + 1);
    auto edge = [&](size_t from, std::string_view name) {
        const auto to = number.find(find(name));
        if (to == number.end()) return;
        calls[from].push_back(to->second);
        callers[to->second].push_back(from);
    };
    for (std::string_view name : taken_) edge(any, name);
    for (size_t i = 0; i < any; i++)
        for (const text::Instruction& in : ast_.subroutines[i].instructions) {
            if (in.opcode != "call" && !in.opcode.starts_with("call.")) continue;
            const auto callee = std::find_if(in.operands.begin(), in.operands.end(),
                                             [](const text::Operand& o) { return o.kind == text::Operand::name; });
            if (callee == in.operands.end()) continue;
            if (by_name_.count(callee->id)) edge(i, callee->id);
            else calls[i].push_back(any), callers[any].push_back(i);
        }
    std::vector<bool> left(any + 1, true);
    for (const bool up : {true, false}) { // by what they call, then by who calls them
        auto& out = up ? calls : callers;
        auto& in = up ? callers : calls;
        std::vector<size_t> degree(any + 1), open;
        for (size_t i = 0; i <= any; i++) {
            for (size_t to : out[i]) degree[i] += left[to];
            if (left[i] && !degree[i]) open.push_back(i);
        }
        while (!open.empty()) {
            const size_t i = open.back();
            open.pop_back();
            left[i] = false;
            for (size_t from : in[i])
                if (left[from] && !--degree[from]) open.push_back(from);
        }
    }
    for (size_t i = 0; i < any; i++)
        if (left[i]) recursive_.insert(&ast_.subroutines[i]);
}

// --- frames ---

// A place in the frame of the innermost group.
void Builder::place_in_frame(const text::Variable& v, Variable& var) {
    Group& group = groups_.back();
    if (var.align > STACK_UNIT)
        return error(v.place, "a function that may call itself aligns nothing to more than " +
                                  std::to_string(STACK_UNIT) + " bytes");
    var.frame = group.frame;
    var.address = round_up(group.bytes, var.align);
    group.bytes = var.address + var.bytes;
}

// The frame's place of a parameter or result; one in a register has a place beside it.
Builder::Slot Builder::make_slot(const text::Variable& formal) {
    Slot slot{&formal, 0, 0};
    const uint64_t size = bytes_of(type_named(formal.type));
    if (formal.space == ".reg" && !size) refuse(text::quoted(formal.name) + " is a predicate; recursion passes none");
    declare(formal);
    if (faults_ || full_) return slot;
    if (formal.space == ".reg") {
        Variable beside;
        beside.align = uint32_t(std::max<uint64_t>(size, 1));
        beside.bytes = size;
        place_in_frame(formal, beside);
        slot.offset = beside.address;
        slot.bytes = size;
    } else {
        const Variable& var = scopes_[size_t(scope_)].vars.at(std::string(formal.name));
        slot.offset = var.address;
        slot.bytes = var.bytes;
    }
    return slot;
}

// Between an argument or a result's destination in the caller and its place behind `base`.
void Builder::pass_slot(const Slot& slot, const text::Operand& other, std::string_view base, uint64_t from, bool back,
                        text::Place place) {
    const uint64_t offset = from + slot.offset;
    const std::string type(slot.formal->type);
    const Variable* given = passed_variable(other);
    if (!given) {
        if (slot.formal->is_array) refuse(text::quoted(slot.formal->name) + " is an array; its argument is a .param");
        else if (back) instruction(made("ld.local." + type, {other, at(base, offset)}), place);
        else instruction(made("st.local." + type, {at(base, offset), other}), place);
        return;
    }
    if (!given->of_call) return void(refuse(text::quoted(other.id) + " is neither a register nor a .param"));
    if (given->bytes != slot.bytes)
        return void(refuse(text::quoted(given->name) + " has " + std::to_string(given->bytes) + " bytes, " +
                           text::quoted(slot.formal->name) + " has " + std::to_string(slot.bytes)));
    const unsigned step = slot.bytes % 4 || given->align % 4 ? 1 : 4;
    const std::string part = step == 4 ? "b32" : "b8";
    for (uint64_t i = 0; i < slot.bytes; i += step) {
        const text::Operand there = at(other.id, i), here = at(base, offset + i);
        instruction(made("ld.local." + part, {named(WORD), back ? here : there}), place);
        instruction(made("st.local." + part, {back ? there : here, named(WORD)}), place);
    }
}

// Saves or restores what the group's code may have in registers; returns the bytes that it takes behind STACK.
uint64_t Builder::move_registers(size_t from, size_t to, bool save, text::Place place) {
    uint64_t bytes = 0;
    for (size_t i = from; i < to; i++) {
        if (regs_[i].kind != VirtualReg::declared) continue;
        const bool predicate = regs_[i].type == Type::pred;
        const unsigned size = predicate ? 4 : bytes_of(regs_[i].type);
        const std::string type = "b" + std::to_string(size * 8), move = (save ? "st.local." : "ld.local.") + type;
        hidden_.regs[MOVED] = uint16_t(i);
        const text::Operand reg = named(predicate ? WORD : MOVED);
        bytes = round_up(bytes, size);
        const text::Operand memory = at(STACK, bytes);
        if (predicate && save)
            instruction(made("selp.b32", {named(WORD), constant_operand(1), constant_operand(0), named(MOVED)}), place);
        instruction(made(move, save ? std::vector{memory, reg} : std::vector{reg, memory}), place);
        if (predicate && !save)
            instruction(made("setp.ne.b32", {named(MOVED), named(WORD), constant_operand(0)}), place);
        bytes += size;
    }
    return round_up(bytes, STACK_UNIT);
}

// What takes the address of a variable in a frame. False: it is none.
bool Builder::frame_statement(const text::Instruction& in, text::Place place) {
    if (groups_.empty()) return false;
    for (size_t i = 1; i < in.operands.size(); i++) {
        const text::Operand& o = in.operands[i];
        const Variable* var = o.kind == text::Operand::name && find_reg(o.id) < 0 ? find_var(o.id) : nullptr;
        if (!var || !var->frame || in.opcode.starts_with("call")) continue;
        hidden_.regs[MOVED] = var->frame;
        instruction(made("add.u64", {named(LONG), named(MOVED), constant_operand(var->address + o.value)}), place);
        const bool narrow = in.opcode.ends_with("32");
        if (narrow) instruction(made("cvt.u32.u64", {named(WORD), named(LONG)}), place);
        text::Instruction with_register = in;
        with_register.operands[i] = named(narrow ? WORD : LONG);
        instruction(with_register, place);
        return true;
    }
    return false;
}

// --- calls ---

// From outside.
void Builder::enter(Call& call, text::Place place) {
    const text::Function& f = *call.function;
    const std::string number = std::to_string(++group_count_);
    uses_stack_ = true;
    groups_.push_back({});
    Group group; // as it is at its beginning
    group.function = &f;
    group.first_reg = regs_.size();
    group.name = "frame " + number;
    group.entry = "entry " + number;
    group.size = "frame size " + number;
    group.frame = hide(group.name, {"", Type::b64, 2, VirtualReg::declared, 0});
    const uint16_t size = hide(group.size, {"", Type::b64, 2, VirtualReg::constant, 0});
    group.bytes = 8; // the number of the call
    groups_.back() = std::move(group);
    const size_t mine = groups_.size() - 1;
    const int outer = scope_;
    scope_ = call.own = open_scope(-1);
    for (const auto* formals : {&f.params, &f.results})
        for (const text::Variable& formal : *formals) groups_[mine].slots.push_back(make_slot(formal));
    scope_ = outer;
    if (faults_ || full_) return;
    const std::string frame = groups_[mine].name, entry = groups_[mine].entry;
    const std::vector<Slot> slots = groups_[mine].slots;
    instruction(made("mov.b64", {named(frame), named(STACK)}), place);
    for (size_t i = 0; i < f.params.size(); i++) pass_slot(slots[i], call.arguments[i], frame, 0, false, place);
    instruction(made("st.local.b32", {at(frame, 0), constant_operand(0)}), place);
    hidden_.labels[entry] = uint32_t(labels_.size());
    labels_.push_back(uint32_t(kernel_.code.size()));
    instruction(made("add.u64", {named(STACK), named(frame), named(groups_[mine].size)}), place);
    scope_ = call.own;
    for (size_t i = 0; i < slots.size(); i++) // parameters in registers
        if (slots[i].formal->space == ".reg" && i < f.params.size())
            instruction(made("ld.local." + std::string(slots[i].formal->type),
                             {named(slots[i].formal->name), at(frame, slots[i].offset)}),
                        place);
    promise_label(call.own, RETURN);
    inside_.push_back(&f);
    body(f, call.own, nullptr);
    inside_.pop_back();
    set_label(call.own, RETURN);
    scope_ = call.own;
    for (size_t i = f.params.size(); i < slots.size(); i++)
        if (slots[i].formal->space == ".reg")
            instruction(made("st.local." + std::string(slots[i].formal->type),
                             {at(frame, slots[i].offset), named(slots[i].formal->name)}),
                        place);
    instruction(made("mov.b64", {named(STACK), named(frame)}), place);
    instruction(made("ld.local.b32", {named(WORD), at(frame, 0)}), place);
    leave_group(mine, place);
    regs_[size].bits = round_up(groups_[mine].bytes, STACK_UNIT);
    scope_ = outer;
    groups_.pop_back();
    for (size_t i = f.params.size(); i < slots.size(); i++)
        pass_slot(slots[i], call.results[i - f.params.size()], frame, 0, true, place);
    scopes_.resize(size_t(call.own));
}

// To whichever call the frame's number, in WORD, means; from 0 on to what follows.
void Builder::leave_group(size_t group, text::Place place) {
    hide("which call", {"", Type::pred, 0, VirtualReg::declared, 0});
    for (size_t i = 0; i < groups_[group].resumes.size(); i++) {
        instruction(made("setp.eq.b32", {named("which call"), named(WORD), constant_operand(i + 1)}), place);
        text::Instruction back = made("bra", {named(groups_[group].resumes[i])});
        back.guard = "which call";
        instruction(back, place);
    }
}

// From within.
void Builder::call_again(const Call& call, text::Place place) {
    const text::Function& f = *call.function;
    const auto innermost = std::find_if(groups_.rbegin(), groups_.rend(), [&](auto& g) { return g.function == &f; });
    Group& group = *innermost;
    const size_t end = regs_.size();
    calls_.statements += 4 * (end - group.first_reg);
    if (!calls_have_room()) return;
    const uint64_t saved = move_registers(group.first_reg, end, true, place);
    for (size_t i = 0; i < f.params.size(); i++)
        pass_slot(group.slots[i], call.arguments[i], STACK, saved, false, place);
    const std::string resume = group.name + " resume " + std::to_string(group.resumes.size() + 1);
    group.resumes.push_back(resume);
    instruction(made("st.local.b32", {at(STACK, saved), constant_operand(group.resumes.size())}), place);
    instruction(made("add.u64", {named(group.name), named(STACK), constant_operand(saved)}), place);
    instruction(made("bra", {named(group.entry)}), place);
    hidden_.labels[resume] = uint32_t(labels_.size());
    labels_.push_back(uint32_t(kernel_.code.size()));
    instruction(made("sub.u64", {named(STACK), named(STACK), constant_operand(saved)}), place);
    move_registers(group.first_reg, end, false, place);
    for (size_t i = 0; i < f.results.size(); i++)
        pass_slot(group.slots[f.params.size() + i], call.results[i], STACK, saved, true, place);
}

} // namespace emu

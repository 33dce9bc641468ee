// SPDX-License-Identifier: Apache-2.0
// Calls: the function's statements are decoded in the place of the call, with names of their own, so that branches,
// checks and lines are those of any other code. Parameters in .param are the caller's variable itself, in the thread's
// local memory; those in registers are moved.
#include "calls.h"
#include "../engine_limits.h"

namespace emu {
namespace {

// A parameter as its caller sees it: a name that no text can spell.
std::string handle_of(const text::Variable& formal) { return "parameter " + std::string(formal.name); }

} // namespace

int Builder::open_scope(int parent) {
    scopes_.push_back({parent, {}, {}, {}});
    return int(scopes_.size() - 1);
}

void Builder::promise_label(int scope, const char* name) {
    scopes_[size_t(scope)].labels[name] = uint32_t(labels_.size());
    labels_.push_back(0);
}
void Builder::set_label(int scope, const std::string& name) {
    labels_[scopes_[size_t(scope)].labels.at(name)] = uint32_t(kernel_.code.size());
}

// An instruction, a call, or the way back from one.
void Builder::statement(const text::Instruction& in) {
    const bool known = !inside_.empty() && Subroutines::is_known(*inside_.back());
    if (stack_statement(in, place_) || frame_statement(in, place_)) return;
    if (!known && (in.opcode == "call" || in.opcode.starts_with("call."))) return call(in, place_);
    if (inside_.empty() || (in.opcode != "ret" && in.opcode != "ret.uni")) return instruction(in, place_);
    text::Instruction back = branch_to(RETURN);
    back.guard = in.guard;
    back.guard_not = in.guard_not;
    instruction(back, place_);
}

bool Builder::read_call(const text::Instruction& in, Call& to) {
    if (in.opcode != "call" && in.opcode != "call.uni") return refuse("a call has no modifier but .uni");
    auto next = in.operands.begin();
    const auto end = in.operands.end();
    if (next != end && next->kind == text::Operand::list) to.results = (next++)->parts;
    if (next == end || next->kind != text::Operand::name) return refuse("the name of a function is expected");
    const std::string_view name = (next++)->id;
    if (next != end && next->kind == text::Operand::list) to.arguments = (next++)->parts;
    if (find_reg(name) >= 0) {
        if (next == end || next->kind != text::Operand::name || next + 1 != end)
            return refuse("a call through a register needs its prototype or its targets");
        to.callee = named(name);
        to.candidates = next->id;
        return true;
    }
    if (next != end) return refuse("a call of " + text::quoted(name) + " has nothing behind its arguments");
    to.function = calls_.find(name);
    return to.function || refuse(calls_.unknown(name));
}

// Can the function be put here?
bool Builder::can_call(const Call& call) {
    const text::Function& f = *call.function;
    kernel_.uses_heap |= Subroutines::is_known(f) && (f.name == "malloc" || f.name == "free");
    const std::string name = text::quoted(f.name);
    if (!f.has_body)
        return refuse(name + " has no body here; without one __assertfail, vprintf, malloc and free are known");
    if (inside_.size() >= limits::NESTING)
        return refuse("more than " + std::to_string(limits::NESTING) + " calls inside each other, at " + name);
    if (f.params.size() != call.arguments.size() || f.results.size() != call.results.size())
        return refuse(name + " has " + std::to_string(f.params.size()) + " parameters and " +
                      std::to_string(f.results.size()) + " results, not " + std::to_string(call.arguments.size()) +
                      " and " + std::to_string(call.results.size()));
    calls_.statements += 1 + f.items.size() + f.params.size() + f.results.size();
    return calls_have_room();
}

bool Builder::calls_have_room() {
    full_ |= calls_.statements > limits::STATEMENTS;
    return !full_ || refuse("calls add more than " + std::to_string(limits::STATEMENTS) +
                            " instructions, labels, declarations and braces to the text");
}

// The .param variable that an argument names, or nullptr: a register or a constant.
const Variable* Builder::passed_variable(const text::Operand& argument) const {
    if (argument.kind != text::Operand::name || find_reg(argument.id) >= 0) return nullptr;
    return find_var(argument.id);
}

// A parameter that is the caller's variable.
bool Builder::share(const text::Variable& formal, const Variable& given, bool back, const Call& call) {
    const uint64_t bytes = uint64_t(bytes_of(type_named(formal.type))) * formal.vec * formal.elements;
    if (bytes != given.bytes && formal.elements) // an array without a size takes what follows the named arguments
        return refuse(text::quoted(given.name) + " has " + std::to_string(given.bytes) + " bytes, " +
                      text::quoted(formal.name) + " has " + std::to_string(bytes));
    auto& vars = scopes_[size_t(call.own)].vars;
    for (const auto& [name, other] : vars)
        if (back && other.address == given.address)
            return refuse(text::quoted(given.name) + " is given twice, and once as a result");
    Variable same = given;
    same.name = formal.name;
    same.argument = !back;
    return vars.emplace(same.name, same).second ||
           refuse(text::quoted(formal.name) + " is declared twice in its function");
}

// Gives a parameter its storage: the argument's, or its own, which the caller's side knows by its handle.
bool Builder::bind(const text::Variable& formal, const text::Operand& argument, bool back, const Call& call) {
    const std::string name(formal.name);
    const Variable* given = passed_variable(argument);
    if (given && (!given->of_call || (back && given->argument)))
        return refuse(text::quoted(argument.id) +
                      (given->of_call ? " cannot be written" : " is neither a register nor a .param"));
    if (formal.space == ".param" && given) return share(formal, *given, back, call);
    if (formal.is_array) return refuse(text::quoted(name) + " is an array; its argument is a .param");
    const uint64_t before = faults_;
    scope_ = call.own;
    declare(formal);
    scope_ = call.between;
    Scope &own = scopes_[size_t(call.own)], &between = scopes_[size_t(call.between)];
    if (faults_ != before || full_) return false;
    if (formal.space == ".reg") {
        between.regs[handle_of(formal)] = own.regs.at(name);
    } else {
        between.vars[handle_of(formal)] = own.vars.at(name);
        own.vars.at(name).argument = !back;
    }
    return true;
}

// Moves an argument to its parameter, or a result back, unless they are the same.
void Builder::pass(const text::Variable& formal, const text::Operand& argument, bool back, text::Place place) {
    const bool given = passed_variable(argument);
    if (formal.space == ".param" && given) return;
    const std::string handle = handle_of(formal);
    const auto address = text::Operand::address;
    const text::Operand inside = formal.space == ".param" ? named(handle, address) : named(handle);
    const text::Operand outside = given ? named(argument.id, address) : argument;
    const text::Operand &to = back ? outside : inside, &from = back ? inside : outside;
    text::Instruction move;
    move.opcode = from.kind == address ? "ld.param." : to.kind == address ? "st.param." : "mov.";
    move.opcode += formal.type;
    move.operands = {to, from};
    instruction(move, place);
}

void Builder::call(const text::Instruction& in, text::Place place) {
    Call call;
    opcode_ = in.opcode;
    if (!read_call(in, call)) return;
    const int outer = scope_, around = scope_ = open_scope(outer);
    promise_label(around, AFTER);
    if (!in.guard.empty()) {
        text::Instruction skip = branch_to(AFTER);
        skip.guard = in.guard;
        skip.guard_not = !in.guard_not;
        instruction(skip, place);
    }
    if (call.function) expand(call, place);
    else dispatch(call, place);
    set_label(around, AFTER);
    scope_ = outer;
    scopes_.resize(size_t(around)); // labels have their places; nothing else will be looked up there
}

void Builder::expand(Call& call, text::Place place) {
    if (!can_call(call)) return;
    const text::Function& f = *call.function;
    if (is_inside(f)) return call_again(call, place);
    if (calls_.is_recursive(f)) return enter(call, place);
    const int outer = scope_;
    const std::string before = "stack before " + std::to_string(++group_count_);
    const bool takes_stack = Subroutines::takes_stack(f);
    if (takes_stack) {
        hide(before, {"", Type::b64, 2, VirtualReg::declared, 0});
        instruction(made("mov.b64", {named(before), named(STACK)}), place);
    }
    scope_ = call.between = open_scope(outer);
    call.own = open_scope(-1);
    promise_label(call.own, RETURN);
    for (size_t i = 0; i < f.params.size(); i++)
        if (!bind(f.params[i], call.arguments[i], false, call)) return;
    for (size_t i = 0; i < f.results.size(); i++)
        if (!bind(f.results[i], call.results[i], true, call)) return;
    for (size_t i = 0; i < f.params.size(); i++) pass(f.params[i], call.arguments[i], false, place);
    inside_.push_back(&f);
    body(f, call.own, Subroutines::is_known(f) ? &place : nullptr);
    inside_.pop_back();
    set_label(call.own, RETURN);
    if (takes_stack) instruction(made("mov.b64", {named(STACK), named(before)}), place);
    scope_ = call.between;
    for (size_t i = 0; i < f.results.size(); i++) pass(f.results[i], call.results[i], true, place);
    scope_ = outer;
    scopes_.resize(size_t(call.between));
}

// Does it load or store a parameter of a call? Those lie in the thread's local memory. In a function a computed address
// is one of its own parameters, unless .param::entry says otherwise.
bool Builder::is_of_call(const text::Instruction& in) {
    if (in.opcode.find(".param") == std::string::npos) return false;
    const bool store = in.opcode.starts_with("st.");
    if (!in.opcode.starts_with("ld.") && !store) return false;
    for (const text::Operand& o : in.operands) {
        if (o.kind != text::Operand::address || o.id.empty()) continue;
        if (find_reg(o.id) >= 0) return !inside_.empty() && in.opcode.find("::entry") == std::string::npos;
        const Variable* var = find_var(o.id);
        if (!var || !var->of_call) return false;
        if (var->argument && store) refuse(text::quoted(var->name) + " cannot be written");
        return true;
    }
    return false;
}

text::Instruction Builder::in_local_memory(const text::Instruction& in) {
    static constexpr std::string_view SPACE = ".param", FUNCTION = "::func"; // .param::func says the same
    text::Instruction out = in;
    const size_t at = out.opcode.find(SPACE);
    const bool longer = out.opcode.compare(at + SPACE.size(), FUNCTION.size(), FUNCTION) == 0;
    out.opcode.replace(at, SPACE.size() + (longer ? FUNCTION.size() : 0), ".local");
    return out;
}

} // namespace emu

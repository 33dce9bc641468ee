// SPDX-License-Identifier: Apache-2.0
// Turns one parsed kernel into decoded instructions: names and scopes (build.cpp), instructions (decode.cpp,
// operands.cpp), calls (calls.cpp), control flow (flow.cpp), register slots (registers.cpp). Used by ir/load.cpp only.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "../text/ast.h"
#include "module.h"
#include "optable.h"
#include "special.h"

namespace emu {

// A register before slots are given out: declared, constant, special, or a place for results that nobody reads.
struct VirtualReg {
    std::string name;
    Type type = Type::none;
    uint8_t wide = 1; // slots; 0: predicate
    enum Kind : uint8_t { declared, constant, special, trash } kind = declared;
    uint64_t bits = 0; // constant, or Special
};

// The functions of a text, and what their calls have added to its kernels so far.
class Subroutines {
public:
    explicit Subroutines(const text::Ast& ast);
    const text::Function* find(std::string_view name) const; // the one with a body, if there is one; nullptr: no such
    uint64_t address(std::string_view name) const;           // what a register holds to call it; 0: no such
    std::string unknown(std::string_view name) const;        // why it is nothing that has an address or can be called
    bool table(std::string_view variable, std::vector<std::string_view>& names) const; // functions that it begins with
    const std::vector<std::string_view>& taken() const { return taken_; } // functions whose address is anywhere
    static bool is_known(const text::Function& function); // of the emulator: its places are not of the text
    bool may_need_stack();                                // does anything in the text call itself, or use alloca?
    static bool takes_stack(const text::Function& f);
    bool is_recursive(const text::Function& f) const { return recursive_.count(&f); }
    size_t statements = 0, registers = 0;

private:
    void find_taken(const text::Ast& ast);
    void find_recursive();
    const text::Ast& ast_;
    void take(std::string_view name);
    std::unordered_map<std::string_view, const text::Function*> by_name_;
    std::unordered_map<std::string_view, uint64_t> addresses_;
    std::vector<std::string_view> taken_;
    std::unordered_set<std::string_view> is_taken_;
    std::unordered_set<const text::Function*> recursive_;
    int needs_stack_ = -1; // -1: not known yet
};

class Builder {
public:
    Builder(const text::Ast& ast, const text::Function& function, Subroutines& calls, Module& module, Kernel& kernel,
            std::vector<std::string>& errors);
    void run();

private:
    struct Scope {
        int parent = -1;
        std::unordered_map<std::string, uint16_t> regs;
        std::unordered_map<std::string, uint32_t> labels; // entries of labels_
        std::unordered_map<std::string, Variable> vars;
    };
    // build.cpp
    void error(text::Place place, const std::string& what);
    void parameters();
    std::vector<int> scan_labels(const text::Function& f, int scope);
    void body(const text::Function& f, int scope, const text::Place* instead);
    void declare(const text::Variable& v);
    void declare_registers(const text::Variable& v);
    bool place(const text::Variable& from, Variable& var, uint64_t& used, uint64_t most, const char* kind);
    uint16_t add_reg(VirtualReg reg);
    uint16_t constant(uint64_t bits, unsigned wide);
    uint16_t trash(Type type);
    int find_reg(std::string_view name) const;
    const Variable* find_var(std::string_view name) const;
    uint32_t find_label(std::string_view name, bool& found) const;
    void resolve_labels();
    template <class F> void each_target(uint32_t pc, F f) { // of a branch
        Inst& branch = kernel_.code[pc];
        if (!branch.extra) return f(branch.target);
        for (int64_t& target : kernel_.extras[branch.extra].imm) {
            uint32_t to = uint32_t(target);
            f(to);
            target = to;
        }
    }
    void place_dynamic_shared();
    uint64_t keep_apart(const std::string& name, uint64_t offset, uint64_t bytes, uint32_t align);
    void keep_local_apart(Variable& var);
    void mark_local();
    void check_cluster();
    void finish_info();
    // decode.cpp
    struct Choice { // what a spelling may mean
        struct Row {
            const OpRow* row;
            std::vector<std::string_view> mods; // in the order of its grammar
        };
        std::string_view mnemonic;
        std::vector<Row> rows;
        std::vector<std::string_view> words; // after the mnemonic, as the text has them
    };
    void instruction(const text::Instruction& in, text::Place place);
    const Choice& choices(const std::string& opcode);
    const Choice::Row* choose_row(const Choice& choice, const text::Instruction& in);
    bool resembles(const text::Operand& from, const OperandSpec& spec) const;
    bool allowed(const OpRow& row, const Form& form);
    bool decode(const text::Instruction& in, const Choice::Row& choice, Inst& inst, InstInfo& info);
    void flatten(const Operand& o, const OperandSpec& spec, Inst& inst, Extra& all, InstInfo& info);
    void push(const Operand& o, const OperandSpec& spec, Extra& all, InstInfo& info);
    bool place_operands(Extra& all, Inst& inst);
    void flags(const Form& form, const OpRow& row, Inst& inst, const InstInfo& info);
    bool refuse(const std::string& what);
    // operands.cpp
    bool operands(const text::Instruction& in, const OpRow& row, Form& form);
    bool operand(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to);
    bool scalar(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to);
    bool vector(const text::Operand& from, Type need, unsigned count, const OperandSpec& spec, Operand& to);
    bool parts(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to);
    bool pair(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to);
    bool immediate(const text::Operand& from, Type need, Operand& to);
    bool symbol(const text::Operand& from, const Variable& var, Type need, Operand& to);
    bool memory(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to);
    bool coordinates(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to);
    bool base(const text::Operand& from, Space space, Operand& to);
    bool label(const text::Operand& from, Operand& to);
    bool labels(const text::Operand& from, Operand& to);
    bool fits(Type reg, Type need, bool wider) const;
    // calls.cpp
    struct Call {
        const text::Function* function = nullptr; // nullptr: indirect
        text::Operand callee;                     // the register of an indirect call
        std::string_view candidates;              // its prototype, list of targets, or table
        std::vector<text::Operand> results, arguments;
        int between = 0, own = 0; // scopes: where arguments are moved, and the function's
    };
    int open_scope(int parent);
    void promise_label(int scope, const char* name);
    void set_label(int scope, const std::string& name);
    void statement(const text::Instruction& in);
    bool read_call(const text::Instruction& in, Call& to);
    bool can_call(const Call& call);
    const Variable* passed_variable(const text::Operand& argument) const;
    bool share(const text::Variable& formal, const Variable& given, bool back, const Call& call);
    bool bind(const text::Variable& formal, const text::Operand& argument, bool back, const Call& call);
    void pass(const text::Variable& formal, const text::Operand& argument, bool back, text::Place place);
    void call(const text::Instruction& in, text::Place place);
    void expand(Call& call, text::Place place);
    // stack.cpp
    uint16_t hide(const std::string& name, VirtualReg reg); // under a name that no text can spell
    void begin_stack();
    void end_stack();
    bool stack_statement(const text::Instruction& in, text::Place place);
    // recursion.cpp
    struct Slot { // of a parameter or result in a frame
        const text::Variable* formal;
        uint64_t offset, bytes;
    };
    struct Group { // a function that may come back to itself, and all that stands in it
        const text::Function* function = nullptr;
        std::string name, entry, size; // of the frame's register, of the beginning, of the register with the size
        uint16_t frame = 0;
        size_t first_reg = 0;
        uint64_t bytes = 0; // of the frame so far
        std::vector<Slot> slots;
        std::vector<std::string> resumes; // labels behind calls from within
    };
    void place_in_frame(const text::Variable& v, Variable& var);
    Slot make_slot(const text::Variable& formal);
    void pass_slot(const Slot& slot, const text::Operand& other, std::string_view base, uint64_t from, bool back,
                   text::Place place);
    uint64_t move_registers(size_t from, size_t to, bool save, text::Place place);
    void enter(Call& call, text::Place place);
    void leave_group(size_t group, text::Place place);
    void call_again(const Call& call, text::Place place);
    bool frame_statement(const text::Instruction& in, text::Place place);
    bool calls_have_room();
    // indirect.cpp
    void dispatch(const Call& call, text::Place place);
    bool find_candidates(const Call& call, std::vector<const text::Function*>& out);
    bool is_inside(const text::Function& function) const;
    bool is_of_call(const text::Instruction& in);
    static text::Instruction in_local_memory(const text::Instruction& in);
    // flow.cpp
    void find_blocks();
    void find_post_dominators();
    // registers.cpp
    struct Crossing;
    Crossing find_crossing() const;
    void find_live_ranges();
    void mark_guesses();
    void assign_slots();
    void rewrite();
    void find_forms();

    const text::Ast& ast_;
    const text::Function& function_;
    Subroutines& calls_;
    Module& module_;
    Kernel& kernel_;
    std::vector<std::string>& errors_;
    uint64_t faults_ = 0; // also those that errors_ holds already, or has no room for

    std::vector<VirtualReg> regs_;
    std::map<std::pair<uint64_t, unsigned>, uint16_t> constants_;
    std::map<Special, uint16_t> specials_;
    bool takes_special_ = false; // the instruction at hand
    std::vector<Scope> scopes_;
    Scope hidden_; // registers and labels that are made up here, seen from everywhere
    std::vector<Group> groups_;
    unsigned group_count_ = 0;
    uint16_t stack_from_ = 0; // the constant with its place
    bool uses_stack_ = false;
    int scope_ = 0;
    std::vector<uint32_t> labels_;              // the instruction that each stands before
    std::vector<const text::Function*> inside_; // the calls around the statement, outermost first
    std::unordered_map<std::string, Variable> module_shared_;
    std::unordered_map<const text::Variable*, uint64_t> shared_at_; // one place, however often its function is called
    uint64_t shared_bytes_ = 0, local_bytes_ = 0;
    uint64_t shared_apart_ = 0, local_apart_ = 0; // red zones so far
    bool after_local_ = false;                    // the last in local memory is no .param
    uint32_t shared_dynamic_align_ = 16;
    std::vector<uint16_t> dynamic_uses_; // constants that hold an address of dynamic shared memory
    bool full_ = false;                  // a limit is reached: nothing more is read
    text::Place place_;
    std::string opcode_;
    std::unordered_map<std::string, Choice> choices_; // by spelling
    unsigned target_ = 0;

    struct Block {
        uint32_t from = 0, to = 0; // instructions [from, to)
        std::vector<uint32_t> next, before;
        uint32_t post = 0;
    };
    std::vector<Block> blocks_;
    std::vector<uint32_t> block_of_;
    struct Range {
        uint32_t from = UINT32_MAX, to = 0;
        bool from_entry = false;
    };
    std::vector<Range> ranges_;
    std::vector<uint16_t> number_; // of each virtual register: slot or predicate number
};

} // namespace emu

// SPDX-License-Identifier: Apache-2.0
// One instruction: its row of the opcode table, its operands checked against the row, its handler. Whatever does not
// fit is refused here, with file and line and a sentence.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../exec/warp.h"
#include "builder.h"

namespace emu {

bool Builder::refuse(const std::string& what) {
    error(place_, "'" + opcode_ + "': " + what);
    return false;
}

const OpRow* Builder::choose_row(std::string_view mnemonic, const std::vector<std::string_view>& mods,
                                 const std::string& text) {
    auto rows = op_rows_named(mnemonic);
    auto found_at =
        std::find_if(rows.begin(), rows.end(), [&](const OpRow* r) { return grammar_accepts(r->grammar, mods); });
    const OpRow* found = found_at == rows.end() ? nullptr : *found_at;
    if (rows.empty()) {
        error(place_, "the instruction " + text::quoted(mnemonic) + " is not known");
        return nullptr;
    }
    if (!found) {
        std::string known;
        for (const OpRow* row : rows)
            if (known.size() < 400) known += "\n    " + std::string(mnemonic) + "." + std::string(row->grammar);
        error(place_, "'" + text + "': this combination of modifiers is not known; there are:" + known);
        return nullptr;
    }
    if (ast_.version < unsigned(found->ptx_min)) {
        refuse("needs .version " + std::to_string(found->ptx_min / 10) + "." + std::to_string(found->ptx_min % 10));
        return nullptr;
    }
    if (target_ < unsigned(found->target_min)) {
        refuse("needs .target sm_" + std::to_string(found->target_min) + " or later");
        return nullptr;
    }
    return found;
}

bool Builder::fits(Type reg, Type need, bool wider) const {
    if (need == Type::pred || reg == Type::pred) return need == reg;
    unsigned have = bytes_of(reg), want = bytes_of(need);
    if (have != want)
        return wider && have > want && !is_float(reg) && (!is_float(need) || reg == Type::b32 || reg == Type::b64);
    auto bits = [](Type t) { return name_of(t)[0] == 'b' && !is_float(t); };
    if (bits(need) || bits(reg)) return true;
    if (is_float(need) != is_float(reg)) return false;
    return !is_float(need) || reg == need;
}

bool Builder::immediate(const text::Operand& from, Type need, Operand& to) {
    unsigned bytes = bytes_of(need);
    uint64_t bits = from.value;
    if (bytes > 8) return refuse("a constant has 64 bits, " + std::string(name_of(need)) + " is needed");
    if (need == Type::pred) {
        to.kind = Operand::pred;
        to.type = Type::pred;
        to.slot = from.value ? 0 : 1;
        return from.kind == text::Operand::integer || refuse("a predicate is 0 or 1");
    }
    bool literal = from.kind == text::Operand::f32 || from.kind == text::Operand::f64;
    if (literal && !is_float(need) && from.kind != (bytes == 4 ? text::Operand::f32 : text::Operand::f64))
        return refuse("a float literal for the type " + std::string(name_of(need)));
    if (from.kind == text::Operand::f64 && need == Type::f32) {
        double d;
        memcpy(&d, &bits, 8);
        float f = float(d);
        bits = 0;
        memcpy(&bits, &f, 4);
    } else if (from.kind == text::Operand::f32 && need == Type::f64) {
        float f;
        memcpy(&f, &bits, 4);
        double d = f;
        memcpy(&bits, &d, 8);
    } else if (!literal && (need == Type::f32 || need == Type::f64)) {
        return refuse("an integer literal for the type " + std::string(name_of(need)) + " (write 0f... or 0d...)");
    }
    if (bytes < 8) bits &= (1ull << (bytes * 8)) - 1;
    to.kind = Operand::imm;
    to.type = need;
    to.value = bits;
    to.slot = constant(bits, bytes <= 4 ? 1 : 2);
    return true;
}

bool Builder::symbol(const text::Operand& from, const Variable& var, Type need, Operand& to) {
    unsigned bytes = bytes_of(need);
    if ((bytes != 4 && bytes != 8) || is_float(need)) return refuse("an address has 32 or 64 bits");
    if (var.space == Space::param) return refuse("the address of a parameter cannot be taken");
    if (var.space == Space::global && bytes != 8) return refuse("the address of a global variable has 64 bits");
    uint64_t value = var.address + from.value;
    to.kind = Operand::symbol;
    to.type = need;
    to.value = value;
    if (var.space == Space::shared && var.bytes == 0) { // dynamic: its place is known later
        kernel_.uses_dynamic_smem = true;
        to.slot = add_reg({"constant", need, uint8_t(bytes / 4), VirtualReg::constant, value});
        dynamic_uses_.push_back(to.slot);
        return true;
    }
    to.slot = constant(value, bytes / 4);
    return true;
}

bool Builder::scalar(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to) {
    using text::Operand;
    if (from.kind == Operand::sink) {
        if (!spec.dst) return refuse("'_' cannot be read");
        to.kind = emu::Operand::sink;
        to.type = need;
        to.slot = trash(need);
        return true;
    }
    if (from.kind == Operand::integer || from.kind == Operand::f32 || from.kind == Operand::f64)
        return spec.dst ? refuse("a constant cannot be written") : immediate(from, need, to);
    if (from.kind != Operand::name) return refuse("a register is expected here");
    std::string name(from.id);
    int reg = find_reg(from.id);
    if (reg < 0) {
        for (const SpecialName& s : SPECIALS) {
            if (s.name != from.id) continue;
            if (spec.dst) return refuse(text::quoted(name) + " cannot be written");
            Type type = s.wide ? Type::u64 : Type::u32;
            if (!fits(type, need, false)) return refuse(text::quoted(name) + " is a " + std::string(name_of(type)));
            auto [it, fresh] = specials_.emplace(s.which, uint16_t(0));
            if (fresh)
                it->second = add_reg({name, type, uint8_t(s.wide ? 2 : 1), VirtualReg::special, uint64_t(s.which)});
            to.kind = emu::Operand::special;
            to.type = type;
            to.slot = it->second;
            to.value = uint64_t(s.which);
            return true;
        }
        if (from.id == "WARP_SZ") {
            text::Operand size;
            size.kind = Operand::integer;
            size.value = 32;
            return immediate(size, need, to);
        }
        const Variable* var = find_var(from.id);
        if (var && !spec.dst) return symbol(from, *var, need, to);
        return refuse(text::quoted(name) + " is not declared");
    }
    const VirtualReg& r = regs_[size_t(reg)];
    if (from.value) return refuse("a constant cannot be added to a register here");
    if (!fits(r.type, need, spec.wider))
        return refuse(text::quoted(name) + " has the type " + std::string(name_of(r.type)) + ", " +
                      std::string(name_of(need)) + " is needed");
    if (from.negated && (need != Type::pred || spec.dst)) return refuse("'!' belongs before a predicate that is read");
    to.kind = need == Type::pred ? emu::Operand::pred : emu::Operand::reg;
    to.type = r.type;
    to.slot = uint16_t(reg);
    to.negated = from.negated;
    to.name = name;
    return true;
}

bool Builder::vector(const text::Operand& from, Type need, unsigned count, const OperandSpec& spec, Operand& to) {
    to.kind = Operand::vector;
    to.type = need;
    if (count == 1 && from.kind != text::Operand::vector) {
        to.parts.resize(1);
        return scalar(from, need, spec, to.parts[0]);
    }
    if (from.kind != text::Operand::vector || from.parts.size() != count)
        return refuse("{} with " + std::to_string(count) + " registers is expected");
    to.parts.resize(count);
    for (unsigned i = 0; i < count; i++)
        if (!scalar(from.parts[i], need, spec, to.parts[i])) return false;
    return true;
}

// mov: a register, or {} of equal parts that make up the type.
bool Builder::parts(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to) {
    if (from.kind != text::Operand::vector) return scalar(from, need, spec, to);
    size_t count = from.parts.size();
    unsigned bytes = count ? bytes_of(need) / unsigned(count) : 0;
    Type part = bytes == 1   ? Type::b8
                : bytes == 2 ? Type::b16
                : bytes == 4 ? Type::b32
                : bytes == 8 ? Type::b64
                             : Type::none;
    if (part == Type::none || bytes * count != bytes_of(need) || count < 2)
        return refuse("{} must hold 2 or 4 parts of " + std::string(name_of(need)));
    to.kind = Operand::vector;
    to.type = part;
    to.parts.resize(count);
    for (size_t i = 0; i < count; i++)
        if (!scalar(from.parts[i], part, spec, to.parts[i])) return false;
    return true;
}

// d or d|p: the second, or setp's first and second, are predicates.
bool Builder::pair(const text::Operand& from, Type need, const OperandSpec& spec, Operand& to) {
    to.kind = Operand::vector;
    to.type = need;
    to.parts.resize(2);
    text::Operand none;
    bool two = from.kind == text::Operand::pair;
    return scalar(two ? from.parts[0] : from, need, spec, to.parts[0]) &&
           scalar(two ? from.parts[1] : none, Type::pred, spec, to.parts[1]);
}

bool Builder::memory(const text::Operand& from, const Form& form, Operand& to) {
    if (from.kind != text::Operand::address) return refuse("an address in [] is expected");
    to.kind = Operand::address;
    to.value = from.value;
    int reg = from.id.empty() ? -1 : find_reg(from.id);
    if (reg >= 0) {
        const VirtualReg& r = regs_[size_t(reg)];
        if (r.wide == 0 || is_float(r.type) || bytes_of(r.type) < 4 || bytes_of(r.type) > 8)
            return refuse(text::quoted(r.name) + " has the type " + std::string(name_of(r.type)) +
                          ", an address has 32 or 64 bits");
        if (bytes_of(r.type) == 4 && (form.space == Space::global || form.space == Space::generic))
            return refuse(text::quoted(r.name) + " has 32 bits; global and generic addresses have 64");
        to.type = r.type;
        to.slot = uint16_t(reg);
        to.name = from.id;
        return true;
    }
    const Variable* var = from.id.empty() ? nullptr : find_var(from.id);
    if (!from.id.empty() && !var) return refuse(text::quoted(from.id) + " is not declared");
    bool wide = form.space == Space::global || form.space == Space::generic || form.space == Space::constant;
    to.type = wide ? Type::u64 : Type::u32;
    to.slot = constant(0, wide ? 2 : 1);
    if (!var) return true;
    bool same = var->space == form.space || (var->space == Space::global && form.space == Space::generic);
    if (!same) return refuse(text::quoted(var->name) + " is not in that address space");
    if (var->space == Space::shared && var->bytes == 0) { // dynamic: its place is known later
        kernel_.uses_dynamic_smem = true;
        to.slot = add_reg({"constant", to.type, 1, VirtualReg::constant, var->address});
        dynamic_uses_.push_back(to.slot);
    } else {
        to.value += var->address;
    }
    return true;
}

bool Builder::label(const text::Operand& from, Operand& to) {
    if (from.kind != text::Operand::name) return refuse("a label is expected");
    bool found = false;
    to.kind = Operand::label;
    to.value = find_label(from.id, found);
    return found || refuse("the label " + text::quoted(from.id) + " is not defined in this scope");
}

namespace {
Type doubled(Type t) {
    switch (t) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
    }
}
// Types come last in most instructions; cvt, set and the like have two.
Type needed(std::string_view code, const Form& form) {
    if (code == "T") return form.type(0);
    if (code == "U") return form.type(1);
    if (code == "V") return form.type(2);
    if (code == "W") return doubled(form.type(0));
    return type_named(code);
}
unsigned vector_count(const Form& form) { return form.has("v8") ? 8 : form.has("v4") ? 4 : form.has("v2") ? 2 : 1; }
unsigned matrix_count(const Form& form) { return form.has("x4") ? 4 : form.has("x2") ? 2 : 1; }
} // namespace

bool Builder::operand(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to) {
    Type need = needed(spec.type, form);
    switch (spec.shape) {
    case OperandSpec::address: return memory(from, form, to);
    case OperandSpec::label: return label(from, to);
    case OperandSpec::predicate: return scalar(from, Type::pred, spec, to);
    case OperandSpec::immediate:
        if (from.kind != text::Operand::integer) return refuse("a constant is expected");
        return immediate(from, Type::u32, to);
    case OperandSpec::parts: return parts(from, need, spec, to);
    case OperandSpec::vec: return vector(from, need, vector_count(form), spec, to);
    case OperandSpec::xvec: return vector(from, need, matrix_count(form), spec, to);
    case OperandSpec::fixed: return vector(from, need, spec.count, spec, to);
    case OperandSpec::one: break;
    }
    return spec.pair ? pair(from, need, spec, to) : scalar(from, need, spec, to);
}

bool Builder::operands(const text::Instruction& in, const OpRow& row, Form& form) {
    std::vector<OperandSpec> specs = operand_specs(row.operands);
    size_t least = 0;
    for (const OperandSpec& s : specs) least += !s.optional;
    if (in.operands.size() < least || in.operands.size() > specs.size())
        return refuse("takes " + std::to_string(least) + (least == specs.size() ? "" : " or more") + " operands, not " +
                      std::to_string(in.operands.size()));
    form.operands.resize(in.operands.size());
    for (size_t i = 0; i < in.operands.size(); i++) {
        if (row.mnemonic == "cp") form.space = i == 0 ? Space::shared : Space::global;
        if (!operand(in.operands[i], specs[i], form, form.operands[i])) return false;
    }
    return true;
}

void Builder::push(uint16_t reg, bool dst, Inst& inst, InstInfo& info) {
    if (inst.nregs >= 16) return;
    inst.r[inst.nregs++] = reg;
    (dst ? info.dst : info.src).push_back(reg);
}

void Builder::flatten(const Operand& o, const OperandSpec& spec, Inst& inst, InstInfo& info) {
    if (o.kind == Operand::vector) {
        for (const Operand& part : o.parts) push(part.slot, spec.dst, inst, info);
    } else if (o.kind == Operand::label) {
        inst.target = uint32_t(o.value);
    } else {
        push(o.slot, spec.dst, inst, info);
        if (o.negated) inst.flags |= Inst::not_src;
        if (o.kind == Operand::address && !inst.imm) inst.imm = int64_t(o.value);
    }
}

void Builder::flags(const Form& form, const OpRow& row, Inst& inst, InstInfo& info) {
    bool warp_sync = row.mnemonic == "bar" && form.has("warp");
    if (form.has("aligned") || (row.mnemonic == "bar" && !warp_sync)) inst.flags |= Inst::aligned;
    if (row.family == "shfl" || (row.family == "vote" && row.mnemonic != "activemask") || warp_sync) {
        inst.flags |= Inst::sync;
        info.mask_at = int8_t(inst.nregs - 1);
    }
    if ((row.family == "ld" || row.family == "ldmatrix") && form.space == Space::shared) inst.flags |= Inst::late_ok;
    if (row.family == "branch" && inst.target <= kernel_.code.size()) inst.flags |= Inst::backward;
    inst.vec = uint8_t(vector_count(form));
    inst.bytes = uint8_t(bytes_of(form.type(0)));
}

void Builder::instruction(const text::Instruction& in, text::Place place) {
    place_ = place;
    opcode_ = in.opcode;
    Form form;
    std::string_view rest = opcode_;
    size_t dot = rest.find('.');
    form.mnemonic = rest.substr(0, dot);
    while (dot != std::string_view::npos) {
        rest = rest.substr(dot + 1);
        dot = rest.find('.');
        std::string_view mod = rest.substr(0, dot);
        form.mods.push_back(mod);
        if (Type t = type_named(mod); t != Type::none) form.types.push_back(t);
        if (mod == "shared" || mod == "shared::cta") form.space = Space::shared;
        else if (mod == "global") form.space = Space::global;
        else if (mod == "local") form.space = Space::local;
        else if (mod == "param") form.space = Space::param;
        else if (mod == "const") form.space = Space::constant;
    }
    Inst inst;
    memset(inst.r, 0xff, sizeof inst.r);
    InstInfo info;
    uint32_t pc = uint32_t(kernel_.code.size());
    const OpRow* row = choose_row(form.mnemonic, form.mods, opcode_);
    // src-size and ignore-src differ by their type alone
    if (row && row->family == "cp_async" && in.operands.size() > 3) {
        const int reg = find_reg(in.operands[3].id);
        const bool ignore = reg >= 0 && regs_[size_t(reg)].type == Type::pred;
        for (const OpRow& other : op_rows())
            // the last
            if (ignore && other.family == row->family && grammar_accepts(other.grammar, form.mods)) row = &other;
    }
    if (row && operands(in, *row, form)) {
        std::vector<OperandSpec> specs = operand_specs(row->operands);
        for (size_t i = 0; i < form.operands.size(); i++) flatten(form.operands[i], specs[i], inst, info);
        info.op = uint32_t(row - op_rows().data());
        info.taint = row->taint;
        flags(form, *row, inst, info);
        Pick pick = family_named(row->family);
        inst.fn = pick ? pick(form, inst) : nullptr;
        if (!inst.fn) refuse("the emulator cannot run this combination of modifiers and types");
    }
    if (!in.guard.empty()) {
        int guard = find_reg(in.guard);
        if (guard < 0 || regs_[size_t(guard)].type != Type::pred)
            refuse(text::quoted(in.guard) + " is not a predicate");
        else inst.guard = uint16_t(guard);
        inst.guard_not = in.guard_not;
    }
    info.line = place.line;
    info.file = place.file;
    info.text = in.opcode;
    info.reconverge = pc;
    kernel_.code.push_back(inst);
    kernel_.infos.push_back(std::move(info));
}

} // namespace emu

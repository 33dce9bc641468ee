// SPDX-License-Identifier: Apache-2.0
// Operands of one instruction, checked against its row of the opcode table: registers, constants, vectors, addresses,
// labels. Whatever does not fit is refused here, with file and line and a sentence.
#include <cstring>

#include "builder.h"

namespace emu {

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
    if (bytes != 8 && (var.space == Space::global || var.space == Space::constant))
        return refuse("the address of a variable in the device's memory has 64 bits");
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

namespace {
// Names of numbers. Nobody counts events here. What the system keeps of shared memory lies before a block's own; no
// text may touch it.
bool known_constant(std::string_view name, text::Operand& to) {
    static constexpr std::pair<std::string_view, uint64_t> KNOWN[] = {{"WARP_SZ", 32},
                                                                      {"%reserved_smem_offset_begin", 0},
                                                                      {"%reserved_smem_offset_end", SHARED_BASE},
                                                                      {"%reserved_smem_offset_cap", SHARED_BASE},
                                                                      {"%reserved_smem_offset_0", 0},
                                                                      {"%reserved_smem_offset_1", 0}};
    constexpr std::string_view EVENTS = "%pm"; // %pm0 to %pm7, %pm0_64 to %pm7_64
    const std::string_view event = name.starts_with(EVENTS) ? name.substr(EVENTS.size()) : std::string_view();
    to.kind = text::Operand::integer;
    to.value = 0;
    if (!event.empty() && event[0] >= '0' && event[0] <= '7' && (event.size() == 1 || event.substr(1) == "_64"))
        return true;
    for (const auto& [known, value] : KNOWN) {
        if (known != name) continue;
        to.value = value;
        return true;
    }
    return false;
}
} // namespace

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
            if (!is_named(s, from.id)) continue;
            if (spec.dst) return refuse(text::quoted(name) + " cannot be written");
            if (!takes_special_) return refuse(text::quoted(name) + " is read by mov, or cvt between integers");
            const Type type = s.type;
            if (!fits(type, need, false)) return refuse(text::quoted(name) + " is a " + std::string(name_of(type)));
            auto [it, fresh] = specials_.emplace(s.which, uint16_t(0));
            if (fresh)
                it->second = add_reg({name, type, uint8_t(type == Type::pred ? 0 : bytes_of(type) / 4),
                                      VirtualReg::special, uint64_t(s.which)});
            to.kind = emu::Operand::special;
            to.type = type;
            to.slot = it->second;
            to.value = uint64_t(s.which);
            return true;
        }
        if (text::Operand constant; !spec.dst && known_constant(from.id, constant))
            return immediate(constant, need, to);
        const Variable* var = find_var(from.id);
        if (var && !spec.dst) return symbol(from, *var, need, to);
        const bool wide = bytes_of(need) == 8 && !is_float(need);
        if (const uint64_t function = calls_.address(from.id); function && wide && !spec.dst) {
            to.kind = emu::Operand::symbol;
            to.type = need;
            to.slot = constant(function, 2);
            return true;
        }
        return refuse(calls_.unknown(name));
    }
    const VirtualReg& r = regs_[size_t(reg)];
    if (from.value) return refuse("a constant cannot be added to a register here");
    if (!fits(r.type, need, spec.wider))
        return refuse(text::quoted(name) + " has the type " + std::string(name_of(r.type)) + ", " +
                      std::string(name_of(need)) + " is needed");
    if (from.negated && (need != Type::pred || spec.dst)) return refuse("'!' belongs before a predicate that is read");
    to.kind = need == Type::pred ? emu::Operand::pred : emu::Operand::reg;
    to.type = r.type;
    if (spec.wider) to.bytes_read = uint8_t(bytes_of(need));
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

bool Builder::memory(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to) {
    if (from.kind != text::Operand::address) return refuse("an address in [] is expected");
    const Space space = spec.where == OperandSpec::shared    ? Space::shared
                        : spec.where == OperandSpec::global  ? Space::global
                        : spec.where == OperandSpec::generic ? Space::generic
                                                             : form.space;
    to.kind = Operand::address;
    to.value = from.value;
    return base(from, space, to) && coordinates(from, spec, form, to);
}

// [base, {c0, c1}]: the coordinates follow the base as further parts.
bool Builder::coordinates(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to) {
    if (from.parts.size() != (spec.coordinates ? 1 : 0))
        return refuse(spec.coordinates ? "an address and coordinates, [a, {...}], are expected"
                                       : "an address alone is expected in []");
    if (!spec.coordinates) return true;
    if (from.value) return refuse("nothing can be added to an address that coordinates follow");
    OperandSpec source;
    Operand all;
    if (from.parts[0].kind != text::Operand::vector) return refuse("coordinates stand in {}");
    const unsigned count = spec.coordinates == OperandSpec::rows ? 5 : form.count;
    if (!vector(from.parts[0], Type::s32, count, source, all)) return false;
    to.parts = std::move(all.parts);
    return true;
}

// The register or the variable of an address.
bool Builder::base(const text::Operand& from, Space space, Operand& to) {
    int reg = from.id.empty() ? -1 : find_reg(from.id);
    if (reg >= 0) {
        const VirtualReg& r = regs_[size_t(reg)];
        if (r.wide == 0 || is_float(r.type) || bytes_of(r.type) < 4 || bytes_of(r.type) > 8)
            return refuse(text::quoted(r.name) + " has the type " + std::string(name_of(r.type)) +
                          ", an address has 32 or 64 bits");
        if (bytes_of(r.type) == 4 && (space == Space::global || space == Space::generic))
            return refuse(text::quoted(r.name) + " has 32 bits; global and generic addresses have 64");
        to.type = r.type;
        to.slot = uint16_t(reg);
        to.name = from.id;
        return true;
    }
    const Variable* var = from.id.empty() ? nullptr : find_var(from.id);
    if (!from.id.empty() && !var) return refuse(text::quoted(from.id) + " is not declared");
    bool wide = space == Space::global || space == Space::generic || space == Space::constant;
    to.type = wide ? Type::u64 : Type::u32;
    to.slot = constant(0, wide ? 2 : 1);
    if (!var) return true;
    const bool same = var->of_call ? space == Space::local
                                   : var->space == space || (var->space == Space::global && space == Space::generic) ||
                                         (var->space == Space::shared && space == Space::cluster);
    if (!same) return refuse(text::quoted(var->name) + " is not in that address space");
    if (var->frame) {
        to.type = Type::b64;
        to.slot = var->frame;
        to.value += var->address;
        return true;
    }
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

bool Builder::labels(const text::Operand& from, Operand& to) {
    const auto& tables = inside_.empty() ? function_.tables : inside_.back()->tables;
    const auto table = tables.find(from.id);
    if (from.kind != text::Operand::name || table == tables.end() || table->second.kind != text::Table::branches)
        return refuse("the name of a .branchtargets is expected");
    to.kind = Operand::label;
    for (std::string_view name : table->second.names) {
        text::Operand one;
        one.kind = text::Operand::name;
        one.id = name;
        if (!label(one, to.parts.emplace_back())) return false;
    }
    return true;
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
} // namespace

bool Builder::operand(const text::Operand& from, const OperandSpec& spec, const Form& form, Operand& to) {
    Type need = needed(spec.type, form);
    switch (spec.shape) {
    case OperandSpec::address: return memory(from, spec, form, to);
    case OperandSpec::label: return label(from, to);
    case OperandSpec::labels: return labels(from, to);
    case OperandSpec::predicate: return scalar(from, Type::pred, spec, to);
    case OperandSpec::immediate:
        if (from.kind != text::Operand::integer) return refuse("a constant is expected");
        return immediate(from, Type::u32, to);
    case OperandSpec::parts: return parts(from, need, spec, to);
    case OperandSpec::vec: return vector(from, need, form.vec, spec, to);
    case OperandSpec::xvec: return vector(from, need, form.count, spec, to);
    case OperandSpec::fixed: return vector(from, need, spec.count, spec, to);
    case OperandSpec::members:
    case OperandSpec::one: break;
    }
    return spec.pair ? pair(from, need, spec, to) : scalar(from, need, spec, to);
}

bool Builder::operands(const text::Instruction& in, const OpRow& row, Form& form) {
    takes_special_ = row.is(trait::special);
    const auto specs = operand_specs(row);
    size_t least = 0, most = specs.size();
    const bool hint = form.has("L2::cache_hint");
    for (const OperandSpec& s : specs) {
        least += !s.optional || (s.is_policy() && hint);
        most -= s.is_policy() && !hint;
    }
    if (in.operands.size() < least || in.operands.size() > most)
        return refuse("takes " + std::to_string(least) + (least == most ? "" : " or more") + " operands, not " +
                      std::to_string(in.operands.size()));
    form.operands.resize(in.operands.size());
    for (size_t i = 0; i < in.operands.size(); i++) {
        const bool policy = hint && i + 1 == in.operands.size() && specs.back().is_policy(); // others may be missing
        if (!operand(in.operands[i], policy ? specs.back() : specs[i], form, form.operands[i])) return false;
    }
    return true;
}

} // namespace emu

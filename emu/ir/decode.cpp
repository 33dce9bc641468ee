// SPDX-License-Identifier: Apache-2.0
// One instruction: its row of the opcode table, its operands put where its handler finds them, its handler. What has no
// row is refused here, with file and line and a sentence.
#include <algorithm>

#include "builder.h"

namespace emu {
namespace {
// Why instructions of the ISA have no row.
struct Missing {
    std::string_view names, why;
};
constexpr Missing MISSING[] = {
    {" multimem ", "memory of several cards is not modelled"},
    {" tex tld4 txq suld sust sured suq istypep ", text::NO_TEXTURES},
    {" alloca stacksave stackrestore ", "addresses on a thread's stack have 64 bits here"},
    {" wgmma tcgen05 ", "instructions of warp groups are not run; no 12.x has them"},
    {" vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 "
     "vavrg4 vmin4 vmax4 vset4 ",
     "video instructions are not run"},
};
// Why forms of instructions that are run have none.
constexpr Missing MISSING_FORMS[] = {
    {" im2col im2col_no_offs im2col::w im2col::w::128 ",
     "copies in im2col mode are not run, and no map for them can be encoded: copies of tiles are"},
    {" tile::scatter4 cta_group::1 cta_group::2 ", "no 12.x has it"},
    {" cp_mask ", "copies of some bytes of each 16 are not run"},
    {" oob ", "the pattern that it takes for out of bounds is not documented"},
};
template <size_t N> std::string why_missing(const Missing (&all)[N], std::string_view word) {
    const std::string name = " " + std::string(word) + " ";
    for (const Missing& missing : all)
        if (missing.names.find(name) != std::string_view::npos) return ": " + std::string(missing.why);
    return {};
}
} // namespace

bool Builder::refuse(const std::string& what) {
    error(place_, "'" + opcode_ + "': " + what);
    return false;
}

// The rows that take these modifiers, in the order of the table; the same for all instructions that are spelt alike.
const Builder::Choice& Builder::choices(const std::string& opcode) {
    auto [it, fresh] = choices_.try_emplace(opcode);
    Choice& choice = it->second;
    if (!fresh) return choice;
    const std::string_view spelling = it->first;
    std::vector<std::string_view> words;
    for (size_t from = 0; from <= spelling.size();) {
        const size_t dot = std::min(spelling.find('.', from), spelling.size());
        words.push_back(spelling.substr(from, dot - from));
        from = dot + 1;
    }
    choice.mnemonic = words[0];
    words.erase(words.begin());
    for (const OpRow* row : op_rows_named(choice.mnemonic)) {
        std::vector<std::string_view> mods = words;
        if (grammar_accepts(*row, mods)) choice.rows.push_back({row, std::move(mods)});
    }
    choice.words = std::move(words);
    return choice;
}

// Could this operand be meant? Rows that share their modifiers differ in what they take.
bool Builder::resembles(const text::Operand& from, const OperandSpec& spec) const {
    const bool name = from.kind == text::Operand::name;
    const int reg = name ? find_reg(from.id) : -1;
    const bool predicate = reg >= 0 && regs_[size_t(reg)].type == Type::pred;
    switch (spec.shape) {
    case OperandSpec::address: return from.kind == text::Operand::address;
    case OperandSpec::immediate: return from.kind == text::Operand::integer;
    case OperandSpec::predicate: return predicate || (reg < 0 && from.kind == text::Operand::integer);
    case OperandSpec::fixed:
        return from.kind != text::Operand::vector ? spec.count == 1 : from.parts.size() == spec.count;
    case OperandSpec::one:
        return from.kind != text::Operand::address && from.kind != text::Operand::vector &&
               (spec.pair || spec.type == "pred" || spec.type == "T" || !predicate);
    default: return true;
    }
}

const Builder::Choice::Row* Builder::choose_row(const Choice& choice, const text::Instruction& in) {
    for (const Choice::Row& found : choice.rows) {
        const auto specs = operand_specs(*found.row);
        bool fits = in.operands.size() <= specs.size();
        for (size_t i = 0; fits && i < specs.size(); i++)
            fits = i < in.operands.size() ? resembles(in.operands[i], specs[i]) : specs[i].optional;
        if (fits) return &found;
    }
    if (!choice.rows.empty()) return &choice.rows[0]; // whose complaint says what is expected
    const auto rows = op_rows_named(choice.mnemonic);
    if (rows.empty()) {
        error(place_, "the instruction " + text::quoted(choice.mnemonic) + " is not known" +
                          why_missing(MISSING, choice.mnemonic));
        return nullptr;
    }
    for (std::string_view word : choice.words)
        if (const std::string why = why_missing(MISSING_FORMS, word); !why.empty()) {
            error(place_, "'" + opcode_ + "': '" + std::string(word) + "'" + why);
            return nullptr;
        }
    std::string known;
    for (const OpRow* row : rows)
        if (known.size() < 400) known += "\n    " + std::string(row->mnemonic) + "." + std::string(row->grammar);
    error(place_, "'" + opcode_ + "': this combination of modifiers is not known; there are:" + known);
    return nullptr;
}

bool Builder::allowed(const OpRow& row, const Form& form) {
    constexpr unsigned CLUSTER_PTX = 78, CLUSTER_TARGET = 90; // of every address of another block
    const bool cluster = form.space == Space::cluster;
    const unsigned version = std::max(unsigned(row.ptx_min), cluster ? CLUSTER_PTX : 0);
    const unsigned target = std::max(unsigned(row.target_min), cluster ? CLUSTER_TARGET : 0);
    if (ast_.version < version)
        return refuse("needs .version " + std::to_string(version / 10) + "." + std::to_string(version % 10));
    if (target_ < target) return refuse("needs .target sm_" + std::to_string(target) + " or later");
    constexpr unsigned WIDEST = 16, WIDER_TARGET = 100; // bytes that a lane loads or stores on every target
    if (bytes_of(form.type(0)) * form.vec > WIDEST && target_ < WIDER_TARGET)
        return refuse("accesses of more than 16 bytes need .target sm_100 or later");
    if (row.is(trait::specific) && ast_.target.back() != 'a' && ast_.target.back() != 'f')
        return refuse("needs a target of one architecture or family, such as sm_" + std::to_string(row.target_min) +
                      "f");
    return true;
}

void Builder::push(const Operand& o, const OperandSpec& spec, Extra& all, InstInfo& info) {
    if (spec.shape == OperandSpec::members) info.mask_at = int8_t(all.r.size());
    all.r.push_back(o.slot);
    if (spec.dst) {
        info.dst.push_back(o.slot);
        return;
    }
    const bool combines = row_of(info).is(trait::combines);
    const bool data = combines ? spec.shape == OperandSpec::predicate : info.src.empty() || spec.type == "T";
    if (!data) info.choosers |= 1u << std::min<size_t>(info.src.size(), 31);
    info.src.push_back(o.slot);
    info.src_bytes.push_back(o.bytes_read);
}

void Builder::flatten(const Operand& o, const OperandSpec& spec, Inst& inst, Extra& all, InstInfo& info) {
    if (spec.shape == OperandSpec::labels) {
        for (const Operand& part : o.parts) all.imm.push_back(int64_t(part.value));
        return;
    }
    if (o.kind == Operand::label) {
        inst.target = uint32_t(o.value);
        return;
    }
    if (o.kind != Operand::vector) push(o, spec, all, info);
    for (const Operand& part : o.parts) push(part, spec, all, info);
    if (o.negated) inst.flags |= Inst::not_src;
}

// The operands, in the instruction if there is room; what pick() added goes with them if there is none.
bool Builder::place_operands(Extra& all, Inst& inst) {
    if (all.r.size() > UINT8_MAX) return refuse("has more registers than an instruction can name");
    inst.nregs = uint8_t(all.r.size());
    if (inst.nregs <= INLINE_OPERANDS) {
        std::copy(all.r.begin(), all.r.end(), inst.r);
        all.r.clear();
    }
    return true;
}

void Builder::flags(const Form& form, const OpRow& row, Inst& inst, const InstInfo& info) {
    if (form.has("aligned") || row.is(trait::aligned)) inst.flags |= Inst::aligned;
    if (info.mask_at >= 0) inst.flags |= Inst::sync;
    if (row.is(trait::orders) || form.order.releases()) inst.flags |= Inst::delivers;
    if (row.is(trait::late) && form.space == Space::shared && !form.order.acquires()) inst.flags |= Inst::late_ok;
    inst.vec = uint8_t(form.vec);
    inst.bytes = uint8_t(bytes_of(form.type(0)));
    inst.order = form.order;
}

// Operands and handler of an instruction whose row is known. False: refused, and a reason given.
bool Builder::decode(const text::Instruction& in, const Choice::Row& choice, Inst& inst, InstInfo& info) {
    const OpRow& row = *choice.row;
    Form form;
    Extra all;
    form.mnemonic = row.mnemonic;
    form.mods = choice.mods;
    form.more = &all;
    form.chip = unsigned(module_.device->cc_major);
    read_modifiers(row, form);
    if (!allowed(row, form) || !operands(in, row, form)) return false;
    info.op = uint32_t(&row - op_rows().data());
    const auto specs = operand_specs(row);
    for (size_t i = 0; i < form.operands.size(); i++) flatten(form.operands[i], specs[i], inst, all, info);
    for (auto o = form.operands.rbegin(); o != form.operands.rend(); ++o)
        if (o->kind == Operand::address) inst.imm = int64_t(o->value);
    info.taint = row.taint();
    if (!place_operands(all, inst)) return false;
    flags(form, row, inst, info);
    inst.fn = pick_of(row)(form, inst);
    if (!inst.fn) return refuse("the emulator cannot run this combination of modifiers and types");
    if (all.r.empty() && all.imm.empty()) return true;
    inst.extra = uint32_t(kernel_.extras.size());
    kernel_.extras.push_back(std::move(all));
    return true;
}

void Builder::instruction(const text::Instruction& in, text::Place place) {
    place_ = place;
    opcode_ = in.opcode;
    if (is_of_call(in)) return instruction(in_local_memory(in), place);
    Inst inst;
    std::fill(std::begin(inst.r), std::end(inst.r), NO_REG);
    InstInfo info;
    if (const Choice::Row* row = choose_row(choices(opcode_), in)) decode(in, *row, inst, info);
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
    info.reconverge = uint32_t(kernel_.code.size());
    kernel_.code.push_back(inst);
    kernel_.infos.push_back(std::move(info));
}

} // namespace emu

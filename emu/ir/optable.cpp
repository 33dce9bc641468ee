// SPDX-License-Identifier: Apache-2.0
// The opcode table and the matcher of its two small grammars (described at the head of opcodes.inc).
#include "optable.h"

#include <unordered_map>

namespace emu {
namespace {

#define INTS "u16|s16|u32|s32|u64|s64"
#define CMPS "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan"
#define CVTS "u8|s8|u16|s16|u32|s32|u64|s64|f16|bf16|f32|f64"
#define MEMT "b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64|b128"
#define L1 "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"
#define L2E "L2::evict_normal|L2::evict_first|L2::evict_last"
#define L2P "L2::64B|L2::128B|L2::256B"
#define SEM "relaxed|acquire|release|acq_rel"
#define SCOPE "cta|cluster|gpu|sys"

const std::vector<OpRow> ROWS = {
#define OP(mnemonic, family, grammar, operands, ptx, sm, taint, pipe, meaning) \
    {#mnemonic, #family, grammar, operands, ptx, sm, Taint::taint, pipe, meaning},
#include "opcodes.inc"
#undef OP
};

// One element of the grammar at its front; the rest stays in `grammar`.
std::string_view take_element(std::string_view& grammar) {
    size_t depth = 0, i = 0;
    for (; i < grammar.size(); i++) {
        if (grammar[i] == '{' || grammar[i] == '[') depth++;
        else if (grammar[i] == '}' || grammar[i] == ']') depth--;
        else if (grammar[i] == '.' && depth == 0) break;
    }
    std::string_view element = grammar.substr(0, i);
    grammar = i < grammar.size() ? grammar.substr(i + 1) : std::string_view();
    return element;
}

// How many modifiers from `at` on spell `word`, which may hold dots itself ("async.global"); 0: it does not match.
size_t match_word(std::string_view word, const std::vector<std::string_view>& mods, size_t at) {
    size_t used = 0;
    while (!word.empty()) {
        size_t dot = word.find('.');
        std::string_view part = word.substr(0, dot);
        if (at + used >= mods.size() || mods[at + used] != part) return 0;
        used++;
        word = dot == std::string_view::npos ? std::string_view() : word.substr(dot + 1);
    }
    return used;
}

bool accepts(std::string_view grammar, const std::vector<std::string_view>& mods, size_t at) {
    if (grammar.empty()) return at == mods.size();
    std::string_view rest = grammar;
    std::string_view element = take_element(rest);
    if (element.empty()) return accepts(rest, mods, at);
    char open = element[0];
    if (open != '{' && open != '[') {
        size_t used = match_word(element, mods, at);
        return used && accepts(rest, mods, at + used);
    }
    std::string_view words = element.substr(1, element.size() - 2);
    while (!words.empty()) {
        size_t bar = words.find('|');
        size_t used = match_word(words.substr(0, bar), mods, at);
        if (used && accepts(rest, mods, at + used)) return true;
        words = bar == std::string_view::npos ? std::string_view() : words.substr(bar + 1);
    }
    return open == '[' && accepts(rest, mods, at);
}

OperandSpec one_spec(std::string_view s) {
    OperandSpec spec;
    auto eat = [&](char c) {
        if (s.empty() || s[0] != c) return false;
        s.remove_prefix(1);
        return true;
    };
    spec.dst = eat('=');
    spec.wider = eat('~');
    if (s.back() == '?') {
        spec.optional = true;
        s.remove_suffix(1);
    }
    if (s.back() == '|') {
        spec.pair = true;
        s.remove_suffix(1);
    }
    if (s.size() > 2 && s[1] == '*') {
        spec.shape = s[0] == 'v'   ? OperandSpec::vec
                     : s[0] == 'x' ? OperandSpec::xvec
                     : s[0] == 'p' ? OperandSpec::parts
                                   : OperandSpec::fixed;
        if (spec.shape == OperandSpec::fixed) spec.count = unsigned(s[0] - '0');
        s.remove_prefix(2);
    } else if (s == "M") spec.shape = OperandSpec::address;
    else if (s == "L") spec.shape = OperandSpec::label;
    else if (s == "I") spec.shape = OperandSpec::immediate;
    else if (s == "P") spec.shape = OperandSpec::predicate;
    spec.type = s;
    return spec;
}

} // namespace

const std::vector<OpRow>& op_rows() { return ROWS; }

std::span<const OpRow* const> op_rows_named(std::string_view mnemonic) {
    static const auto* const by_name = [] {
        auto* names = new std::unordered_map<std::string_view, std::vector<const OpRow*>>;
        for (const OpRow& row : ROWS) (*names)[row.mnemonic].push_back(&row);
        return names;
    }();
    auto it = by_name->find(mnemonic);
    return it == by_name->end() ? std::span<const OpRow* const>() : it->second;
}

bool grammar_accepts(std::string_view grammar, const std::vector<std::string_view>& mods) {
    return accepts(grammar, mods, 0);
}

std::vector<OperandSpec> operand_specs(std::string_view operands) {
    std::vector<OperandSpec> specs;
    while (!operands.empty()) {
        size_t blank = operands.find(' ');
        specs.push_back(one_spec(operands.substr(0, blank)));
        operands = blank == std::string_view::npos ? std::string_view() : operands.substr(blank + 1);
    }
    return specs;
}

} // namespace emu

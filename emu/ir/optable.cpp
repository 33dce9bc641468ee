// SPDX-License-Identifier: Apache-2.0
// The opcode table and the matcher of its two small grammars (described at the head of opcodes.inc).
#include "optable.h"

#include <unordered_map>

namespace emu {
namespace {

#define INTS "u16|s16|u32|s32|u64|s64"
#define FLOATCMP "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"
#define WIDEINTT "u16|s16|u32|s32|u64|s64"
#define INTT "u8|s8|u16|s16|u32|s32|u64|s64"
#define MEMT "b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64|b128"
#define L1 "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"
#define L2E "L2::evict_normal|L2::evict_first|L2::evict_last"
#define L2P "L2::64B|L2::128B|L2::256B"
#define FP8 "e4m3|e5m2"
#define FP864 "e4m3|e5m2|e3m2|e2m3|e2m1"
#define W16 "m16n16k16|m8n32k16|m32n8k16"
#define SEM "relaxed|acquire|release|acq_rel"
#define RELEASE "release.cta|release.cluster|relaxed.cta|relaxed.cluster"
#define ACQUIRE "acquire.cta|acquire.cluster|relaxed.cta|relaxed.cluster"
#define SCOPE "cta|cluster|gpu|sys"
#define DIMS "{1d|2d|3d|4d|5d}"

using namespace trait;
constexpr OpRow ROWS[] = {
#define OP(mnemonic, family, grammar, operands, ptx, sm, traits, pipe, meaning) \
    {#mnemonic, #family, grammar, operands, ptx, sm, traits, pipe, meaning},
#include "opcodes.inc"
#undef OP
};

// One element of a grammar: words that stand at the front (fixed), or at any place; one of several choices.
struct Element {
    bool fixed = false, optional = false;
    std::vector<std::vector<std::string_view>> choices;
};

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (size_t i = 0; i != std::string_view::npos;) {
        size_t end = text.find(at, i);
        parts.push_back(text.substr(i, end == std::string_view::npos ? end : end - i));
        i = end == std::string_view::npos ? end : end + 1;
    }
    return parts;
}

// Up to the next dot outside braces; the rest stays in `grammar`.
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

std::vector<Element> parse_grammar(std::string_view grammar) {
    std::vector<Element> elements;
    while (!grammar.empty()) {
        std::string_view text = take_element(grammar);
        Element element;
        element.fixed = text[0] == '^';
        if (element.fixed) text.remove_prefix(1);
        element.optional = text[0] == '[';
        if (text[0] == '{' || text[0] == '[') text = text.substr(1, text.size() - 2);
        for (std::string_view choice : split(text, '|')) element.choices.push_back(split(choice, '.'));
        elements.push_back(std::move(element));
    }
    return elements;
}

// Gives each modifier of an instruction an element of its own, whatever their order, but for what must keep it.
class Matcher {
public:
    Matcher(const std::vector<Element>& elements, const std::vector<std::string_view>& mods)
        : elements_(elements), mods_(mods), first_(elements.size(), NONE), length_(elements.size(), 0) {}
    bool match() { return rest(0, 0, 0, 0); }
    std::vector<std::string_view> ordered() const {
        std::vector<std::string_view> out;
        for (size_t e = 0; e < elements_.size(); e++)
            for (size_t i = 0; first_[e] != NONE && i < length_[e]; i++) out.push_back(mods_[first_[e] + i]);
        return out;
    }

private:
    static constexpr size_t NONE = SIZE_MAX;
    // Modifiers from `at` on. Elements before `front` are fixed and done with; types and spaces take elements after
    // `type` and `space`.
    bool rest(size_t at, size_t front, size_t type, size_t space) {
        if (at == mods_.size()) return complete();
        const bool is_type = type_named(mods_[at]) != Type::none, in_space = is_space(mods_[at]);
        for (size_t e = front; e < elements_.size(); e++) {
            const Element& element = elements_[e];
            if (first_[e] == NONE && (!is_type || e >= type) && (!in_space || e >= space)) {
                for (const auto& choice : element.choices) {
                    if (!spells(choice, at)) continue;
                    first_[e] = at, length_[e] = choice.size();
                    if (rest(at + choice.size(), element.fixed ? e + 1 : front, is_type ? e + 1 : type,
                             in_space ? e + 1 : space))
                        return true;
                    first_[e] = NONE;
                }
            }
            if (element.fixed && first_[e] == NONE && !element.optional) return false; // it must stand here
            if (element.fixed) front = e + 1;
        }
        return false;
    }
    bool spells(const std::vector<std::string_view>& choice, size_t at) const {
        if (mods_.size() - at < choice.size()) return false;
        for (size_t i = 0; i < choice.size(); i++)
            if (mods_[at + i] != choice[i]) return false;
        return true;
    }
    bool complete() const {
        for (size_t e = 0; e < elements_.size(); e++)
            if (first_[e] == NONE && !elements_[e].optional) return false;
        return true;
    }
    const std::vector<Element>& elements_;
    const std::vector<std::string_view>& mods_;
    std::vector<size_t> first_, length_; // by element: the modifiers that it has
};

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
    } else if (s[0] == 'M') {
        spec.shape = OperandSpec::address;
        spec.coordinates = s == "Mc" ? OperandSpec::box : s == "Mr" ? OperandSpec::rows : OperandSpec::none;
        spec.where = s == "Ms"   ? OperandSpec::shared
                     : s == "Mg" ? OperandSpec::global
                     : s == "M"  ? OperandSpec::named
                                 : OperandSpec::generic;
    } else if (s == "K") {
        spec.shape = OperandSpec::members;
        s = "u32";
    }
    if (s == "L") spec.shape = OperandSpec::label;
    else if (s == "L*") spec.shape = OperandSpec::labels;
    else if (s == "I") spec.shape = OperandSpec::immediate;
    else if (s == "P") spec.shape = OperandSpec::predicate;
    spec.type = s;
    return spec;
}

} // namespace

std::span<const OpRow> op_rows() { return ROWS; }

std::span<const OpRow* const> op_rows_named(std::string_view mnemonic) {
    static const auto* const by_name = [] {
        auto* names = new std::unordered_map<std::string_view, std::vector<const OpRow*>>;
        for (const OpRow& row : ROWS) (*names)[row.mnemonic].push_back(&row);
        return names;
    }();
    auto it = by_name->find(mnemonic);
    return it == by_name->end() ? std::span<const OpRow* const>() : it->second;
}

namespace {
std::vector<OperandSpec> parse_operands(std::string_view operands) {
    std::vector<OperandSpec> specs;
    if (operands.empty()) return specs;
    for (std::string_view one : split(operands, ' ')) specs.push_back(one_spec(one));
    return specs;
}

// Both grammars of all rows, taken apart once.
struct Parsed {
    std::vector<Element> elements;
    std::vector<OperandSpec> specs;
};
const Parsed& parsed(const OpRow& row) {
    static const auto* const all = [] {
        auto* rows = new std::vector<Parsed>;
        for (const OpRow& r : ROWS) rows->push_back({parse_grammar(r.grammar), parse_operands(r.operands)});
        return rows;
    }();
    return (*all)[size_t(&row - ROWS)];
}
} // namespace

bool grammar_accepts(const OpRow& row, std::vector<std::string_view>& mods) {
    Matcher matcher(parsed(row).elements, mods);
    if (!matcher.match()) return false;
    mods = matcher.ordered();
    return true;
}

std::span<const OperandSpec> operand_specs(const OpRow& row) { return parsed(row).specs; }

} // namespace emu

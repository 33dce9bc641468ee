// SPDX-License-Identifier: Apache-2.0
// Every form that the opcode table spells, and whether the emulator takes it: all combinations of a row's modifiers if
// they are few, else each pair of choices with the others as they come first; with and without operands that may be
// missing. Prints a line for each form of a target, "yes" or "no" and the instruction, or a digest of them.
//
//     emu-forms sm_120f           the forms
//     emu-forms sm_120f --digest  for each mnemonic: forms, how many are taken, a number that any change alters
//     --others FILE               instructions that the table does not spell, too
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine.h"
#include "ir/optable.h"
#include "mem/memory.h"

namespace {

using emu::OperandSpec;
using emu::OpRow;
using emu::Type;

constexpr size_t FEW = 256; // combinations of a row that are all tried

using Words = std::vector<std::string>;
struct Element {
    std::vector<std::string> choices; // an empty one: may be missing
};

Words split(const std::string& text, char at) {
    Words out(1);
    int depth = 0;
    for (char c : text) {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c == at && depth == 0) out.emplace_back();
        else out.back() += c;
    }
    return out;
}

// The grammar of a row, as the head of opcodes.inc says.
std::vector<Element> elements_of(const OpRow& row) {
    std::vector<Element> out;
    if (row.grammar.empty()) return out;
    for (std::string word : split(std::string(row.grammar), '.')) {
        if (word[0] == '^') word.erase(0, 1);
        Element element;
        const bool optional = word[0] == '[';
        if (optional || word[0] == '{') word = word.substr(1, word.size() - 2);
        if (optional) element.choices.push_back("");
        for (const std::string& choice : split(word, '|')) element.choices.push_back(choice);
        out.push_back(element);
    }
    return out;
}

// Which choice each element takes, form by form.
std::vector<std::vector<size_t>> combinations(const std::vector<Element>& elements) {
    size_t all = 1;
    for (const Element& e : elements) all = std::min(all * e.choices.size(), FEW + 1);
    std::set<std::vector<size_t>> out;
    std::vector<size_t> one(elements.size());
    if (all <= FEW) {
        for (size_t n = 0; n < all; n++) {
            size_t rest = n;
            for (size_t e = 0; e < elements.size(); e++) {
                one[e] = rest % elements[e].choices.size();
                rest /= elements[e].choices.size();
            }
            out.insert(one);
        }
        return {out.begin(), out.end()};
    }
    for (size_t i = 0; i < elements.size(); i++)
        for (size_t j = i + 1; j < elements.size(); j++)
            for (size_t a = 0; a < elements[i].choices.size(); a++)
                for (size_t b = 0; b < elements[j].choices.size(); b++) {
                    std::fill(one.begin(), one.end(), 0);
                    one[i] = a, one[j] = b;
                    out.insert(one);
                }
    return {out.begin(), out.end()};
}

// Names of registers of each kind, one after the other.
class Registers {
public:
    std::string next(Type type, bool wider) {
        const unsigned bytes = emu::bytes_of(type);
        if (type == Type::pred) return name("p", 8);
        if (type == Type::f32) return name("f", 40);
        if (type == Type::f64) return name("e", 16);
        if (bytes == 1 && !wider) return name("c", 8);
        return bytes <= 2 ? name("h", 20) : bytes <= 4 ? name("r", 40) : bytes == 8 ? name("d", 40) : name("q", 4);
    }

private:
    std::string name(const char* kind, unsigned most) { return kind + std::to_string(used_[kind]++ % most); }
    std::map<std::string, unsigned> used_;
};

struct Form {
    Words mods;
    std::vector<Type> types;
    std::string space;
    unsigned vec = 1, count = 1;
    bool has(const char* word) const { return std::find(mods.begin(), mods.end(), word) != mods.end(); }
};
Form form_of(const Words& mods) {
    Form form;
    form.mods = mods;
    for (const std::string& m : mods) {
        if (Type t = emu::type_named(m); t != Type::none) form.types.push_back(t);
        if (emu::is_space(m) && form.space.empty()) form.space = m;
        if (m == "v2" || m == "v4" || m == "v8") form.vec = unsigned(m[1] - '0');
        if (m == "x2" || m == "x4") form.count = unsigned(m[1] - '0');
        if (m.size() == 2 && m[1] == 'd' && m[0] >= '1' && m[0] <= '5') form.count = unsigned(m[0] - '0');
    }
    return form;
}

Type doubled(Type t) {
    return t == Type::u16   ? Type::u32
           : t == Type::s16 ? Type::s32
           : t == Type::u32 ? Type::u64
           : t == Type::s32 ? Type::s64
                            : t;
}
Type type_of(const OperandSpec& spec, const Form& form) {
    auto at = [&](size_t i) { return i < form.types.size() ? form.types[i] : Type::b32; };
    if (spec.type == "T") return at(0);
    if (spec.type == "U") return at(1);
    if (spec.type == "V") return at(2);
    if (spec.type == "W") return doubled(at(0));
    return emu::type_named(spec.type);
}

std::string address(const OperandSpec& spec, const Form& form, Registers& registers) {
    const bool named = spec.where == OperandSpec::named;
    const std::string space = spec.where == OperandSpec::shared   ? "shared"
                              : spec.where == OperandSpec::global ? "global"
                              : named                             ? form.space
                                                                  : "";
    if (space.starts_with("param")) return "[param]";
    const bool narrow = space.starts_with("shared") || space == "local";
    std::string out = "[" + registers.next(narrow ? Type::b32 : Type::b64, false);
    if (spec.coordinates) {
        out += ", {";
        for (unsigned i = 0; i < form.count; i++) out += (i ? ", " : "") + registers.next(Type::b32, false);
        out += "}";
    }
    return out + "]";
}

std::string constant(const OpRow& row) {
    const bool edits = row.grammar.starts_with("^replace");                 // of a tensor map: a place, or a value
    if (edits || row.mnemonic == "mma" || row.mnemonic == "st") return "0"; // a selector of metadata; what fills
    for (const char* of_line_or_map : {"discard", "applypriority", "tensormap", "fence"})
        if (row.mnemonic == of_line_or_map) return "128";
    if (row.mnemonic == "setmaxnreg") return "40";
    if (row.mnemonic == "pmevent") return "3";
    return "16";
}

std::string operand(const OpRow& row, const OperandSpec& spec, const Form& form, Registers& registers) {
    const Type type = type_of(spec, form);
    auto some = [&](unsigned n) {
        std::string out = "{";
        for (unsigned i = 0; i < n; i++) out += (i ? ", " : "") + registers.next(type, spec.wider);
        return out + "}";
    };
    switch (spec.shape) {
    case OperandSpec::address: return address(spec, form, registers);
    case OperandSpec::label: return "L";
    case OperandSpec::labels: return "list";
    case OperandSpec::immediate: return constant(row);
    case OperandSpec::members: return "-1";
    case OperandSpec::predicate: return registers.next(Type::pred, false);
    case OperandSpec::vec: return form.vec > 1 ? some(form.vec) : registers.next(type, spec.wider);
    case OperandSpec::xvec: return some(form.count);
    case OperandSpec::fixed: return some(spec.count);
    case OperandSpec::parts:
    case OperandSpec::one: break;
    }
    const std::string first = registers.next(type, spec.wider);
    return spec.pair ? first + "|" + registers.next(Type::pred, false) : first;
}

// One instruction; `most`: with the operands that may be missing.
std::string instruction(const OpRow& row, const Words& mods, bool most) {
    const Form form = form_of(mods);
    Registers registers;
    std::string out(row.mnemonic);
    for (const std::string& m : mods) out += "." + m;
    bool first = true;
    for (const OperandSpec& spec : emu::operand_specs(row)) {
        if (spec.optional && !most) continue;
        out += first ? " " : ", ";
        out += operand(row, spec, form, registers);
        first = false;
    }
    return out + ";";
}

// The ISA has .v8 for elements of 32 bits. Of others ptxas takes some and crashes on others, now and then: not asked.
bool is_asked(const OpRow& row, const Words& mods) {
    const Form form = form_of(mods);
    const bool access = row.mnemonic == "ld" || row.mnemonic == "st";
    return !access || form.vec < 8 || form.types.empty() || emu::bytes_of(form.types[0]) == 4;
}

// All of them, once each, in the order of the table.
std::vector<std::string> all_forms(const std::string& target) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const OpRow& row : emu::op_rows()) {
        if (row.grammar == "assertfail" || row.grammar == "nowhere" || row.grammar == "itself") continue; // no text's
        if (row.target_min > std::stoi(target.substr(3))) continue;
        const auto elements = elements_of(row);
        for (const auto& choice : combinations(elements)) {
            Words mods;
            for (size_t e = 0; e < elements.size(); e++)
                if (const std::string& word = elements[e].choices[choice[e]]; !word.empty())
                    for (const std::string& m : split(word, '.')) mods.push_back(m);
            if (!is_asked(row, mods)) continue;
            for (bool most : {false, true})
                if (std::string text = instruction(row, mods, most); seen.insert(text).second) out.push_back(text);
        }
    }
    return out;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string target = argv[1];
    bool digest = false;
    std::vector<std::string> forms = all_forms(target);
    for (int i = 2; i < argc; i++) {
        digest |= !strcmp(argv[i], "--digest");
        std::ifstream others(i > 2 && !strcmp(argv[i - 1], "--others") ? argv[i] : "");
        for (std::string line; std::getline(others, line);)
            if (!line.empty() && line[0] != '#' && std::find(forms.begin(), forms.end(), line) == forms.end())
                forms.push_back(line);
    }
    emu::DeviceProfile device{}; // of which only the capability is asked
    device.key = device.name = "any";
    device.cc_major = target.starts_with("sm_9") ? 9 : 12;
    emu::Memory memory(1 << 20);
    struct Sum {
        unsigned forms = 0, taken = 0;
        uint64_t number = 0xcbf29ce484222325ull;
    };
    std::map<std::string, Sum> sums;
    const std::string head = ".version 9.0\n.target " + target +
                             "\n.address_size 64\n.visible .entry k(.param .b64 param) {\n"
                             ".reg .pred p<8>; .reg .b8 c<8>; .reg .b16 h<20>; .reg .b32 r<40>; .reg .f32 f<40>;\n"
                             ".reg .b64 d<40>; .reg .f64 e<16>; .reg .b128 q<4>;\n";
    for (const std::string& form : forms) {
        const bool list = form.ends_with("list;");
        const auto loaded = emu::load_module(
            head + (list ? "list: .branchtargets L, L;\n" : "") + form + "\nL: ret;\n}\n", device, &memory);
        const std::string line = std::string(loaded.module ? "yes " : "no ") + form;
        if (!digest) std::printf("%s\n", line.c_str());
        Sum& sum = sums[form.substr(0, form.find_first_of(". ;"))];
        sum.forms++;
        sum.taken += loaded.module != nullptr;
        for (char c : line) sum.number = (sum.number ^ uint8_t(c)) * 0x100000001b3ull;
    }
    for (const auto& [mnemonic, sum] : sums)
        if (digest)
            std::printf("%s %s %u %u %016llx\n", target.c_str(), mnemonic.c_str(), sum.forms, sum.taken,
                        static_cast<unsigned long long>(sum.number));
}

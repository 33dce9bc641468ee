// SPDX-License-Identifier: Apache-2.0
// A PTX text as it was written: declarations, labels and instructions with their places. No meaning is given here;
// ir/build.cpp turns it into instructions. All string views point into the text that was parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace emu::text {

// Why words of textures and surfaces are refused, wherever they stand.
inline constexpr std::string_view NO_TEXTURES =
    "textures and surfaces are not modelled; ld.global.nc reads the elements, without a filter";

struct Place {
    uint32_t file = 0; // index into Ast::files
    uint32_t line = 0;
    uint32_t column = 0; // from 1, in bytes
};

struct Operand {
    enum Kind : uint8_t { name, integer, f32, f64, vector, address, sink, pair, list } kind = sink;
    std::string_view id;        // name; base of an address (empty: absolute)
    uint64_t value = 0;         // integer or float bits; offset of a name or address
    bool negated = false;       // !p
    std::vector<Operand> parts; // vector, pair, list of a call; what follows the base of an address: [a, {c0, c1}]
};

// An initial value that is an address: the element holds what is added to it.
struct Link {
    Place place;
    std::string_view name;
    uint64_t element = 0; // index into Variable::init
};

struct Variable {
    Place place;
    std::string_view space; // ".reg" ".shared" ".param" ".global" ".const" ".local"
    std::string_view type;  // "b32"
    std::string_view name;
    uint64_t align = 0;    // 0: natural
    uint64_t elements = 1; // product of array bounds; 0: [] of an extern
    uint64_t count = 0;    // n of name<n>; 0: a plain name
    unsigned vec = 1;      // .v2 .v4
    bool is_extern = false, is_array = false;
    std::vector<uint64_t> init;   // bits of the elements
    std::vector<bool> init_float; // written as a double literal: convert to the element's type
    std::vector<Link> links;      // those elements that are addresses
};

struct Instruction {
    std::string_view guard; // predicate name, empty: none
    bool guard_not = false;
    std::string opcode; // "ld.global.v4.b32"
    std::vector<Operand> operands;
};

// .branchtargets and .calltargets: names; .callprototype: what is called takes and gives.
struct Table {
    enum Kind : uint8_t { branches, calls, prototype } kind = branches;
    std::vector<std::string_view> names;
    std::vector<Variable> params, results;
};

struct Item {
    enum Kind : uint8_t { instruction, label, variable, open, close } kind = instruction;
    Place place;
    std::string_view name; // label
    uint32_t index = 0;    // into Function::instructions or ::variables
};

struct Function {
    Place place;
    std::string_view name;
    bool is_entry = false, has_body = false;
    std::vector<Variable> params, results; // results: of a .func; .param or .reg
    std::vector<Item> items;
    std::vector<Instruction> instructions;
    std::vector<Variable> variables;
    std::unordered_map<std::string_view, Table> tables;
    uint32_t maxntid[3] = {0, 0, 0}, reqntid[3] = {0, 0, 0}; // 0: not given
    uint32_t maxnreg = 0, minnctapersm = 0;
    Place cluster_place;                                           // of the first directive about clusters
    uint32_t reqnctapercluster[3] = {0, 0, 0}, maxclusterrank = 0; // 0: not given
    bool explicitcluster = false;
};

struct Ast {
    std::vector<std::string> files;
    unsigned version = 0; // 88 for 8.8
    std::string target;   // "sm_120f"
    std::vector<Variable> globals;
    std::vector<Function> functions;                                    // .entry
    std::vector<Function> subroutines;                                  // .func, declarations too
    std::vector<std::pair<std::string_view, std::string_view>> aliases; // of functions: another name, the one it is for
    std::vector<std::string> errors;                                    // "file:line:column: sentence"; empty: parsed
    std::string complaint(Place place, const std::string& sentence) const;
};

Ast parse(std::string_view ptx);
// What was found, as a message quotes it: the first bytes, unprintable ones as '?'.
std::string quoted(std::string_view found);

} // namespace emu::text

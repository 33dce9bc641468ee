// SPDX-License-Identifier: Apache-2.0
// Reads the grammar strings of opcodes.inc. Used by ir/build.cpp when it decodes an instruction.
#pragma once

#include <span>

#include "module.h"

namespace emu {

struct OperandSpec {
    bool dst = false, wider = false, optional = false, pair = false;
    enum Shape : uint8_t {
        one,
        vec,
        xvec,
        parts,
        fixed,
        address,
        label,
        labels,
        immediate,
        predicate,
        members
    } shape = one;
    enum Where : uint8_t { named, shared, global, generic } where = named; // of an address; named: as the modifiers say
    enum Coordinates : uint8_t { none, box, rows } coordinates = none;     // of an address
    bool is_policy() const { return optional && type == "b64"; }           // is there if and only if .L2::cache_hint is
    unsigned count = 1;                                                    // of fixed
    std::string_view type;                                                 // "T" "U" "V" "W" or a name
};

// The rows of a mnemonic, in the order of the table.
std::span<const OpRow* const> op_rows_named(std::string_view mnemonic);
// Does the row accept these modifiers? Puts them in the order of its grammar.
bool grammar_accepts(const OpRow& row, std::vector<std::string_view>& mods);
std::span<const OperandSpec> operand_specs(const OpRow& row);
// Fills in what the modifiers mean: types, space, order, lengths.
void read_modifiers(const OpRow& row, Form& form);
bool is_space(std::string_view word);
// The handler chooser of a row, for the instruction-set level of this host. Given by whoever runs the instructions.
Pick pick_of(const OpRow& row);

} // namespace emu

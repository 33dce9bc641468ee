// SPDX-License-Identifier: Apache-2.0
// What the families of cases share: filling inputs, strange rows, the list of families.
// Each operator has one file of cases (ops/<family>/<operator>.cpp) and one table of named situations beside it.
#pragma once

#include "check/case.h"
#include "check/random.h"
#include "check/words.h"

namespace check {

// Every element random: normal, `scale` wide, rounded to the element type.
void fill(Case& c, const Operand& operand, Random& random, double scale = 1);

// Makes row `row` (of length `length`, row-major) of an operand strange.
void make_special(Case& c, const Operand& operand, Special special, int64_t row, int64_t length, Random& random);

// rows1 x rows0 rows of n elements; `pad` elements between rows, `pad1` more after each group of rows0 rows.
View rows_view(ref::Type type, int64_t rows1, int64_t rows0, int64_t n, int64_t pad, int64_t pad1);

// Element types by the bits of a table's `types` field.
enum Types : unsigned { F32 = 1, F16 = 2, BF16 = 4, ALL = 7, E4M3 = 8, E5M2 = 16, I8 = 32, I32 = 64 };
std::vector<ref::Type> types_of(unsigned mask);

// The entries of an operator's table: what `expand` makes of a row; of a row of the bench, the one that its name says.
template <class Table, class Expand>
void add_table(const char* op, Table&& table, const Expand& expand, std::vector<Entry>& out) {
    for (const auto& s : table) {
        if (s.tier == Tier::bench) {
            out.push_back(worded_entry(std::string(op) + " " + s.name));
        } else {
            expand(s, s.name, out);
        }
    }
}

std::string dims_name(const std::vector<int64_t>& dims); // "512,512,64"

// One OpCases for every operator of the library: without its cases an operator does not link.
#define OPERATOR(name) extern const OpCases name;
#include "ops/operators.inc"
#undef OPERATOR

} // namespace check

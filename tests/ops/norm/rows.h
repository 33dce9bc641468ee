// SPDX-License-Identifier: Apache-2.0
// What the cases of the norms share: how a row of a table of situations becomes entries, operands of rows and columns,
// and the error that FP32 allows. Knows no operator's arguments. A Shape, which is the row of such a table, has the
// fields name, rows1, rows0, n, pad, pad1, y_pad, misalign, types, in_place, special, ends, eps and tier, and quant if
// y may be codes.
#pragma once

#include "ops/quant/coded.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace check {

enum class Column { same, f32, none }; // the dtype of a weight or bias

// A row near the ends of the type's range, where sums of its values or squares leave it; beyond the range: its end.
enum class Ends {
    none,
    e19,         // values of 1e19, whose squares overflow FP32
    e30,         // of 1e30
    e38,         // of 1.5e38 to 3e38
    most,        // the largest number, with either sign
    equal,       // the largest number throughout: its sum overflows, its deviation is 0
    opposite,    // 3e38 and -1e38: so do differences from their mean
    normal,      // the smallest normal number, with either sign
    subnormal,   // numbers below it
    one_least,   // the smallest number once, and zeros
    equal_least, // the smallest number throughout
    mixed,       // from the smallest to the largest
};

inline double value_of(Ends ends, ref::Type type, int64_t i, bool chosen, Random& random) {
    const ref::Format f = ref::format_of(type);
    const double normal = std::ldexp(1.0, f.min_exponent()), least = std::ldexp(normal, -f.fraction_bits);
    const double most = std::ldexp(2 - std::ldexp(1.0, -f.fraction_bits), f.max_exponent());
    const double sign = random.chance(0.5) ? 1 : -1, part = random.unit();
    switch (ends) {
    case Ends::none: break;
    case Ends::e19: return std::clamp(sign * (1 + part) * 1e19, -most, most);
    case Ends::e30: return std::clamp(sign * (1 + part) * 1e30, -most, most);
    case Ends::e38: return std::clamp(sign * (1 + part) * 1.5e38, -most, most);
    case Ends::most: return sign * most;
    case Ends::equal: return most;
    case Ends::opposite: return std::clamp(i % 2 == 0 ? 3e38 : -1e38, -most, most);
    case Ends::normal: return sign * normal;
    case Ends::subnormal: return sign * part * normal;
    case Ends::one_least: return chosen ? least : 0;
    case Ends::equal_least: return least;
    case Ends::mixed:
        return sign * std::ldexp(1 + part / 2, static_cast<int>(random.between(f.min_exponent(), f.max_exponent())));
    }
    return 0;
}

inline void make_ends(Case& c, const Operand& operand, Ends ends, int64_t row, int64_t n, Random& random) {
    if (ends == Ends::none || (row + 1) * n > c.to_fill(operand)) {
        return;
    }
    const int64_t chosen = random.below(n);
    for (int64_t i = 0; i < n; ++i) {
        ref::store(operand.view.type, value_of(ends, operand.view.type, i, i == chosen, random),
                   c.element(operand, row * n + i));
    }
}

template <class Shape> struct RowCases {
    const char* op;
    Case (*build)(const Shape& s, ref::Type type, const std::string& name, const Seed& seed);

    Entry entry(const Shape& s, ref::Type type, const std::string& name) const {
        return {op, name, s.tier,
                [s, type, name, build = build](const Seed& seed) { return build(s, type, name, seed); }};
    }
    template <size_t N> void named(const Shape (&table)[N], std::vector<Entry>& out) const {
        add_table(
            op, table,
            [this](const Shape& s, const std::string& name, std::vector<Entry>& all) { expand(s, name, all); }, out);
    }
    void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) const {
        if (dims.size() == 2) {
            Shape s;
            s.rows0 = dims[0];
            s.n = dims[1];
            expand(s, dims_name(dims), out);
        }
    }
    void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) const {
        for (ref::Type type : types_of(s.types)) {
            if constexpr (requires { s.quant; }) {
                for (const Form& form : forms_of(s.quant.forms, s.quant.codes)) {
                    Shape with = s;
                    with.quant.form = form;
                    out.push_back(entry(with, type, name + "." + name_of(form) + "." + ref::name_of(type)));
                }
                if (s.quant.forms != 0) {
                    continue;
                }
            }
            out.push_back(entry(s, type, name + "." + ref::name_of(type)));
        }
    }
    // "rows=3 n=64 BF16", perhaps "to E4M3_ROW", and what the operator has taken already.
    Entry worded(Words& words, Shape s) const {
        s.rows0 = words.number("rows");
        s.n = words.number("n");
        const ref::Type type = words.type(ALL);
        if constexpr (requires { s.quant; }) {
            if (words.take("to")) {
                s.quant.form = worded_form(words);
            }
        }
        return entry(s, type, words.name());
    }
};

// A random number of rows, their width and layout, and what is strange about them.
template <class Shape> void draw_rows(Random& r, Shape& s) {
    s.rows1 = r.chance(0.3) ? r.between(2, 5) : 1;
    s.rows0 = r.between(1, 12);
    s.n = r.chance(0.5) ? r.between(1, 600) : r.pick<int64_t>({8, 16, 64, 128, 256, 1024, 2048, 3072, 4096});
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 16, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.in_place = r.chance(0.3);
    s.special = r.chance(0.3)
                    ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row, Special::zero_row})
                    : Special::none;
    if (s.special == Special::none && r.chance(0.2)) {
        s.ends = static_cast<Ends>(r.between(1, static_cast<int64_t>(Ends::mixed)));
    }
}

// An input of rows, laid out as the shape says, with random values.
template <class Shape>
Operand& add_rows(Case& c, const char* field, size_t args_offset, const Shape& s, ref::Type type, Random& random,
                  double scale) {
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    const View view = rows_view(type, s.rows1, s.rows0, s.n, s.pad, s.pad1);
    Operand& operand = c.add(field, args_offset, view, base, false);
    fill(c, operand, random, scale);
    return operand;
}

// An output of rows: in place of operand `of`, or with a place of its own.
template <class Shape>
void add_result(Case& c, const char* field, size_t args_offset, const Shape& s, ref::Type type, bool in_place,
                size_t of) {
    if (in_place) {
        c.add_in_place(field, args_offset, of);
        return;
    }
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    c.add(field, args_offset, rows_view(type, s.rows1, s.rows0, s.n, s.y_pad < 0 ? s.pad : s.y_pad, s.pad1), base,
          true);
}

// The output y: codes with their scales behind them, or rows.
template <class Shape> void add_y(Case& c, size_t args_offset, const Shape& s, ref::Type type) {
    if (!s.quant.form) {
        add_result(c, "y", args_offset, s, type, s.in_place, 0);
        return;
    }
    add_coded(c, "y", args_offset, coded_of(s), s.y_pad < 0 ? s.pad : s.y_pad, s.pad1, static_cast<size_t>(s.misalign));
}

// A weight or bias of n columns, if there is one.
inline void add_column(Case& c, const char* field, size_t args_offset, Column column, ref::Type type, int64_t n,
                       int64_t misalign, Random& random) {
    if (column != Column::none) {
        type = column == Column::f32 ? ref::Type::f32 : type;
        const size_t base = 16 + static_cast<size_t>(misalign) * ref::size_of(type);
        fill(c, c.add(field, args_offset, packed(type, {n}), base, false), random);
    }
}

// The values of a field; empty if the case has none of that name.
inline std::vector<double> values_of(const Case& c, const std::string& field) {
    for (const Operand& operand : c.operands) {
        if (operand.field == field) {
            return c.values(operand);
        }
    }
    return {};
}

// Row number `row` of what values_of gave.
inline std::span<const double> row_of(const std::vector<double>& values, size_t row, size_t n) {
    return values.empty() ? std::span<const double>() : std::span(values).subspan(row * n, n);
}

template <class Shape> void finish(Case& c, const Shape& s) {
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n);
}

// How many roundings of a sum of n numbers reach one of them: a chain of additions in a lane, at most ceil(n/32) and
// one vector of 8 more (rows wider than a few vectors have a warp or more), then 9 between up to 512 lanes.
inline double sum_steps(int64_t n) { return static_cast<double>((n + 31) / 32) + 8 + 9; }

// The relative error of r = 1 / sqrt(q + eps) that FP32 allows, u = 2^-24, where q is the sum or the mean of n squares;
// `losses`: how many halves of the smallest FP32 number, 2^-150, q may lose below it. Where q + eps is below 2^-112 the
// row is lifted first, so that it is at most 2^-38 of it each.
//   v^2 one rounding; the sum of non-negative terms; 1/n and its product 2; + eps 1. The square root halves the
//   relative error of its argument.
//   rsqrt.approx is within 2^-22.9 (PTX ISA); 1/sqrt in two approximate steps within 2^-22. The product with v rounds
//   once more.
inline double error_of_r(double q, double eps, int64_t n, double losses) {
    constexpr double u = 0x1p-24;
    if (q + eps == 0 || !std::isfinite(q)) { // r is infinite or 0 or NaN, whatever the order of the sum
        return 0;
    }
    const double sum_error = (sum_steps(n) + 4) * u * q + losses * std::min(0x1p-150, 0x1p-38 * (q + eps));
    const double relative = std::min(sum_error / (q + eps), 0.5);
    return relative / (2 * (1 - relative)) + 0x1p-22 + u;
}

// Everything from one result of the oracle to another; finite ones give way by `slack` more.
inline Allowed allow_between(ref::Type type, double one, double other, double slack) {
    Allowed allowed = allow(type, one, 0);
    const double low = std::min(one, other), high = std::max(one, other);
    if (allowed.kind == Allowed::range && std::isfinite(one) && std::isfinite(other)) {
        allowed.low = static_cast<float>(ref::rounded(type, low - slack));
        allowed.high = static_cast<float>(ref::rounded(type, high + slack));
    } else if (allowed.kind == Allowed::range) {
        allowed.low = static_cast<float>(low);
        allowed.high = static_cast<float>(high);
    }
    return allowed;
}

// What the results of a norm may be, of rows of which `near(row)` tells what FP32 allows: y, operand number `y`, or its
// codes and their scales; behind them the sums, which are exact: one FP32 addition, one rounding.
template <class Shape, class Near> auto expect_rows(const Shape& s, ref::Type type, size_t y, Near near) {
    const std::optional<Coded> coded = s.quant.form ? std::optional(coded_of(s)) : std::nullopt;
    const size_t rows = s.n > 0 ? static_cast<size_t>(s.rows1 * s.rows0) : 0, n = static_cast<size_t>(s.n);
    return [=](size_t index, const std::string&) {
        const bool codes = coded && index <= y + 1;
        std::vector<Allowed> out;
        Numbers numbers;
        for (size_t row = 0; row < rows; ++row) {
            const auto of_row = near(row);
            for (size_t i = 0; i < n; ++i) {
                if (codes) {
                    of_row.add_to(numbers, i);
                } else {
                    out.push_back(index > y ? allow(type, of_row.sums[i], 0) : of_row.allowed(type, i));
                }
            }
        }
        if (!codes) {
            return out;
        }
        const CodedAllowed allowed = allow_coded(*coded, numbers);
        return index == y ? allowed.codes : allowed.scales;
    };
}

} // namespace check

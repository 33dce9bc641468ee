// SPDX-License-Identifier: Apache-2.0
// Cases of merge_states: from a row of merge_states.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ops/families.h"
#include "ref/oracles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace check::merge_states {
namespace {

// What the logarithms are: near each other, the same, 100 apart, up to 3e38; of nothing in some states, in all of a
// row; one that is no number, one that is infinite.
enum class Logs { near, equal, far, huge, some_nothing, row_nothing, nan, inf };

struct Shape {
    const char* name = "";
    int64_t parts = 2, b = 1, s = 1, h = 1, d = 64;
    int64_t pad = 0;          // elements between rows
    int64_t misalign = 0;     // elements off the 16-byte boundary
    bool heads_first = false; // heads around tokens, and in the logarithms the other way about
    bool more = false, in_place = false, lse = true;
    unsigned types = ALL;
    Logs logs = Logs::near;
    Special special = Special::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/merge/merge_states.inc"
};

// [parts?, b, s, h, d], or without the last of logarithms.
View view_of(const Shape& s, ref::Type type, bool with_parts, int64_t d, bool heads_first, int64_t pad) {
    const int64_t row = std::max<int64_t>(d, 1) + pad, inner = heads_first ? s.s : s.h;
    const int64_t token = heads_first ? row : inner * row, head = heads_first ? inner * row : row;
    View v{type, {s.b, s.s, s.h}, {s.s * s.h * row, token, head}};
    if (d >= 0) {
        v.shape.push_back(d);
        v.stride.push_back(1);
    }
    if (with_parts) {
        v.shape.insert(v.shape.begin(), s.parts);
        v.stride.insert(v.stride.begin(), s.b * s.s * s.h * row);
    }
    for (int64_t& stride : v.stride) {
        stride = std::max<int64_t>(stride, 1);
    }
    return v;
}

double log_of(Logs logs, int64_t row, int64_t chosen, bool first, Random& random) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    const double usual = 4 * random.normal();
    switch (logs) {
    case Logs::near: return usual;
    case Logs::equal: return 3.25;
    case Logs::far: return first ? 100 + usual : usual;
    case Logs::huge: return random.pick<double>({3e38, -3e38, 1e30, 0});
    case Logs::some_nothing: return random.chance(0.4) ? -INFINITE : usual;
    case Logs::row_nothing: return row == chosen ? -INFINITE : usual;
    case Logs::nan: return row == chosen && first ? std::nan("") : usual;
    case Logs::inf: return row == chosen && first ? INFINITE : usual;
    }
    return 0;
}

void fill_logs(Case& c, const Operand& operand, const Shape& s, Random& random) {
    const int64_t rows = s.b * s.s * s.h;
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        const double log = log_of(s.logs, i % rows, rows * 2 / 3, i < rows, random);
        ref::store(ref::Type::f32, log, c.element(operand, i));
    }
}

// What FP32 may make of a row, u = 2^-24, with t[i] = s[i] - top, K states, T the sum of their weights w[i]:
//   w[i]  the difference, the product with a rounded log2(e): 3 u |t[i]|; ex2.approx 2^-22; flushed to 0 below 2^-126
//   T     its weights' errors, K additions; 1 / T 2^-23 and a product: one rounding more
//   y     each term its weight's error and at most K + 1 roundings, and its share of T's; products below the smallest
//         normal number lose 2^-150 each
//   lse   T's error, lg2.approx 2^-22 or 2^-22 of itself, a rounded ln(2), one fma
// all with 1 / 1024 of themselves for what is squared. Where terms beyond FP32 meet, their sum may be anything.
struct Bounds {
    std::vector<Allowed> y, lse;
};
Bounds allow_all(ref::Type type, const ref::Call& call) {
    constexpr double u = 0x1p-24, more = 1 + 0x1p-10, flushed = 0x1p-126, largest = 0x1.fffffep127;
    const ref::Results right = ref::MERGE_STATES.compute(call);
    const ref::Tensor &x = call["x"], &x_lse = call["x_lse"], &one = call["more"], &one_lse = call["more_lse"];
    const size_t rows = right.at("y_lse").values.size(), d = x.size(4), parts = x.size(0);
    const size_t states = parts + (one_lse.values.empty() ? 0 : 1);
    Bounds out;
    for (size_t row = 0; row < rows; ++row) {
        const auto log = [&](size_t i) { return i < parts ? x_lse.values[i * rows + row] : one_lse.values[row]; };
        const auto value = [&](size_t i, size_t j) {
            return i < parts ? x.values[(i * rows + row) * d + j] : one.values[row * d + j];
        };
        const double lse = right.at("y_lse").values[row];
        double top = -std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < states; ++i) {
            top = std::max(top, log(i));
        }
        const auto k = static_cast<double>(states);
        std::vector<double> share(states), error(states); // of the whole: a weight, and what may be wrong with it
        double wrong = (k + 2) * u + 0x1p-23;             // relative error of 1 / T
        for (size_t i = 0; i < states && std::isfinite(lse); ++i) {
            const double t = std::fabs(log(i) - top);
            share[i] = std::isfinite(t) ? std::exp(log(i) - lse) : 0;
            error[i] = std::isfinite(t) ? share[i] * (3 * u * std::min(t, 1e3) + 0x1p-22) + flushed : 0;
            wrong += error[i];
        }
        for (size_t j = 0; j < d; ++j) {
            const double y = right.at("y").values[row * d + j];
            double slack = (std::fabs(y) * wrong + (k + 2) * 0x1p-150) * more, terms = 0;
            bool lost = false;
            for (size_t i = 0; i < states; ++i) {
                if (share[i] == 0 && error[i] == 0) {
                    continue;
                }
                const double size = std::fabs(value(i, j));
                slack += std::isfinite(size) ? size * (error[i] + share[i] * (k + 1) * u) * more : 0;
                terms += std::isfinite(size) ? size : 0;
                lost |= !std::isfinite(size) && top - log(i) > 80; // 0 * infinity
            }
            lost |= terms * more > largest;
            out.y.push_back(lost ? Allowed{Allowed::any} : allow(type, y, std::isfinite(y) ? slack : 0));
        }
        const double ln = std::fabs(lse - top);
        const double slack = (wrong + 0x1p-22 * std::max(1.0, ln) + 2 * u * ln + u * std::fabs(lse)) * more;
        out.lse.push_back(allow(ref::Type::f32, lse, std::isfinite(lse) ? slack : 0));
    }
    return out;
}

ref::Tensor tensor_of(const Case& c, const std::string& field) {
    for (const Operand& o : c.operands) {
        if (o.field == field) {
            return {o.view.type, o.view.shape, c.values(o), {}};
        }
    }
    return {};
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_merge_states_args;
    Case c = make_case<Args>("merge_states", name, SPARK_OP_MERGE_STATES, seed);
    Random random(seed, name);
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    const View rows = view_of(s, type, false, s.d, s.heads_first, s.pad);
    const View logs = view_of(s, ref::Type::f32, false, -1, !s.heads_first, 0);
    c.add("x", offsetof(Args, x), view_of(s, type, true, s.d, s.heads_first, s.pad), base, false);
    fill(c, c.operands[0], random);
    make_special(c, c.operands[0], s.special, s.b * s.s * s.h / 2, s.d, random);
    c.add("x_lse", offsetof(Args, x_lse), view_of(s, ref::Type::f32, true, -1, !s.heads_first, 0), 20, false);
    fill_logs(c, c.operands[1], s, random);
    if (s.more) {
        fill(c, c.add("more", offsetof(Args, more), rows, base, false), random);
        fill_logs(c, c.add("more_lse", offsetof(Args, more_lse), logs, 20, false), s, random);
    }
    ref::Call call;
    for (const char* field : {"x", "x_lse", "more", "more_lse"}) {
        call.tensors[field] = tensor_of(c, field);
    }
    if (s.in_place) {
        c.add_in_place("y", offsetof(Args, y), 2);
    } else {
        c.add("y", offsetof(Args, y), rows, base, true);
    }
    if (s.lse && s.in_place) {
        c.add_in_place("y_lse", offsetof(Args, y_lse), 3);
    } else if (s.lse) {
        c.add("y_lse", offsetof(Args, y_lse), logs, 20, true);
    }
    c.large = s.tier == Tier::card;
    c.note = std::to_string(s.parts) + (s.more ? " + 1" : "") + " states of " + std::to_string(s.b * s.s * s.h) +
             " rows, D " + std::to_string(s.d);
    c.kind = any_kernel;
    c.expect = [call = std::move(call), type, fields = c.operands](size_t index, const std::string&) {
        Bounds bounds = allow_all(type, call);
        return fields[index].field == "y" ? std::move(bounds.y) : std::move(bounds.lse);
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"merge_states", name, s.tier, [s, type, name](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("merge_states", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "merge_states." + name);
    Shape s;
    s.parts = r.chance(0.2) ? r.between(0, 1) : r.between(2, 9);
    s.b = r.between(1, 3);
    s.s = r.between(1, 9);
    s.h = r.between(1, 5);
    s.d = r.chance(0.5) ? r.between(1, 300) : r.pick<int64_t>({32, 40, 64, 80, 96, 128, 192, 256});
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 24}) : 0;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.heads_first = r.chance(0.4);
    s.more = r.chance(0.5);
    s.in_place = s.more && r.chance(0.5);
    s.lse = r.chance(0.7);
    s.logs = static_cast<Logs>(r.chance(0.5) ? 0 : r.between(0, static_cast<int64_t>(Logs::inf)));
    s.special =
        r.chance(0.2) ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row}) : Special::none;
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 3) {
        expand({.parts = dims[0], .s = dims[1], .d = dims[2]}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    Shape s;
    s.parts = words.number("parts");
    s.s = words.number("rows");
    s.d = words.number("d");
    return entry(s, words.type(ALL), words.name());
}

constexpr OpCases CASES{"merge_states", named, random, sized, "parts,rows,D", worded};

} // namespace
} // namespace check::merge_states

const check::OpCases check::MERGE_STATES = check::merge_states::CASES;

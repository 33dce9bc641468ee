// SPDX-License-Identifier: Apache-2.0
// Cases of delayed_scale: from a row of delayed_scale.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. A quotient rounded once is exact.
#include "ref/delayed_scale.h"

#include "ops/families.h"

#include <cmath>
#include <cstddef>

namespace check::delayed_scale {
namespace {

struct Shape {
    const char* name = "";
    int64_t rows = 1, columns = 1;
    int64_t pad = 0; // elements between rows
    bool amax = false, inverse = false, most_recent = false;
    bool strange = false;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/delayed_scale.inc"
};

void fill_amaxes(Case& c, const Operand& operand, bool strange, Random& random) {
    for (int64_t i = 0; i < c.to_fill(operand); ++i) {
        const double any = random.pick<double>({0, 0, NAN, INFINITY, 0x1p-149, 0x1p-130, 0x1.fffffep127, 448, 1});
        const double number = std::abs(random.normal());
        ref::store(ref::Type::f32, strange ? any : number, c.element(operand, i));
    }
}

// Scales as they are afterwards: each is there anew, or nothing is written.
Allowed scale_of(const std::optional<double>& made) {
    return made ? exactly(ref::Type::f32, *made) : Allowed{Allowed::unchanged};
}

struct Results {
    std::vector<Allowed> history, scale, inverse;
};

Results results(const Case& c, const Shape& s, double largest) {
    const std::vector<double> history = c.values(c.operands[0]);
    Results out;
    out.history.resize(history.size());
    out.scale.resize(static_cast<size_t>(s.columns), Allowed{Allowed::unchanged});
    out.inverse = out.scale;
    if (history.empty()) return out;
    const std::vector<double> amax = s.amax ? c.values(c.operands.back()) : std::vector<double>(out.scale.size());
    for (size_t column = 0; column < out.scale.size(); ++column) {
        std::vector<double> own;
        for (size_t at = column; at < history.size(); at += out.scale.size()) {
            own.push_back(history[at]);
        }
        const ref::DelayedScale one = ref::delayed_scale(own, amax[column], largest, s.most_recent);
        for (size_t row = 0; row < own.size(); ++row) {
            out.history[row * out.scale.size() + column] = exactly(ref::Type::f32, one.history[row]);
        }
        out.scale[column] = scale_of(one.scale);
        out.inverse[column] = scale_of(one.inverse);
    }
    return out;
}

Case build(const Shape& s, const std::string& name, const Seed& seed) {
    using Args = spark_delayed_scale_args;
    Case c = make_case<Args>("delayed_scale", name, SPARK_OP_DELAYED_SCALE, seed);
    Random random(seed, name);
    const View line = packed(ref::Type::f32, {s.columns});
    const auto add = [&](const char* field, size_t at, const View& view, bool output) {
        Operand& operand = c.add(field, at, view, 4, output);
        operand.input = true;
        fill_amaxes(c, operand, s.strange, random);
    };
    add("history", offsetof(Args, history), rows_view(ref::Type::f32, 1, s.rows, s.columns, s.pad, 0), true);
    add("scale", offsetof(Args, scale), line, true);
    if (s.inverse) add("inverse", offsetof(Args, inverse), line, true);
    if (s.amax) add("amax", offsetof(Args, amax), line, false);
    Args& args = c.as<Args>();
    args.largest = random.pick<float>({448, 57344, 127, 0.75F});
    args.hdr.flags = s.most_recent ? SPARK_DELAYED_SCALE_MOST_RECENT : 0;
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "H " + std::to_string(s.rows) + ", S " + std::to_string(s.columns);
    c.kind = any_kernel;
    c.expect = [right = results(c, s, static_cast<double>(args.largest))](size_t index, const std::string&) {
        return index == 0 ? right.history : index == 1 ? right.scale : right.inverse;
    };
    return c;
}

Entry entry(const Shape& s, const std::string& name) {
    return {"delayed_scale", name, s.tier, [=](const Seed& seed) { return build(s, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) { out.push_back(entry(s, name)); }

void named(std::vector<Entry>& out) { add_table("delayed_scale", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "delayed_scale." + name);
    Shape s;
    s.rows = r.chance(0.2) ? r.between(1, 600) : r.between(1, 40);
    s.columns = r.between(1, 30);
    s.pad = r.pick<int64_t>({0, 0, 1, 8});
    s.amax = r.chance(0.5);
    s.inverse = r.chance(0.5);
    s.most_recent = r.chance(0.3);
    s.strange = r.chance(0.4);
    return entry(s, name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        expand({.rows = dims[0], .columns = dims[1], .amax = true}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    Shape s{.amax = true};
    s.rows = words.number("rows"), s.columns = words.number("columns");
    return entry(s, words.name());
}

constexpr OpCases CASES{"delayed_scale", named, random, sized, "H,S", worded};

} // namespace
} // namespace check::delayed_scale

const check::OpCases check::DELAYED_SCALE = check::delayed_scale::CASES;

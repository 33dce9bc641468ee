// SPDX-License-Identifier: Apache-2.0
// Cases of amax: from a row of amax.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref. The largest of exact numbers is exact.
#include "ref/amax.h"

#include "ops/families.h"

#include <cstddef>

namespace check::amax {
namespace {

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0; // elements between rows, and after each group of rows0 rows
    int64_t misalign = 0;      // elements off the 16-byte boundary
    unsigned types = ALL;
    bool all = false; // the tensor's too
    Special special = Special::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/quant/amax.inc"
};

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_amax_args;
    Case c = make_case<Args>("amax", name, SPARK_OP_AMAX, seed);
    Random random(seed, name);
    const auto size = static_cast<int64_t>(ref::size_of(type));
    c.add("x", offsetof(Args, x), rows_view(type, s.rows1, s.rows0, s.n, s.pad, s.pad1),
          static_cast<size_t>(16 + s.misalign * size), false);
    fill(c, c.operands[0], random);
    for (int64_t row = 0; row < s.rows1 * s.rows0; row += 2) {
        make_special(c, c.operands[0], s.special, row, s.n, random);
    }
    std::vector<int64_t> rows = c.operands[0].view.shape;
    rows.back() = 1;
    c.add("y", offsetof(Args, y), packed(ref::Type::f32, rows), 4, true);
    if (s.all) {
        c.add("all", offsetof(Args, all), packed(ref::Type::f32, {1}), 4, true);
    }
    const std::vector<double> x = c.values(c.operands[0]);
    std::vector<double> y;
    for (size_t first = 0; first < x.size(); first += static_cast<size_t>(s.n)) {
        y.push_back(ref::amax(std::span(x).subspan(first, static_cast<size_t>(s.n))));
    }
    const bool empty = x.empty();
    y.resize(static_cast<size_t>(s.rows1 * s.rows0));
    c.exact = true;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n);
    c.expect = [y = std::move(y), empty](size_t operand, const std::string&) {
        std::vector<Allowed> out;
        for (double value : operand == 1 ? y : std::vector<double>{ref::amax(y)}) {
            out.push_back(empty ? Allowed{Allowed::unchanged} : exactly(ref::Type::f32, value));
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"amax", name, s.tier, [=](const Seed& seed) { return build(s, type, name, seed); }};
}

void entries(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("amax", SHAPES, entries, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "amax." + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.rows0 = r.between(1, 9);
    s.n = r.chance(0.5) ? 8 * r.between(1, 80) : r.between(1, 640);
    s.pad = r.chance(0.3) ? r.pick<int64_t>({1, 4, 8, 32}) : 0;
    s.pad1 = r.chance(0.3) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.all = r.chance(0.5);
    s.special = static_cast<Special>(r.between(0, static_cast<int64_t>(Special::huge_row)));
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        entries({.rows0 = dims[0], .n = dims[1], .all = true}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const Shape s{.rows0 = words.number("rows"), .n = words.number("n"), .all = true};
    return entry(s, words.type(ALL), words.name());
}

constexpr OpCases CASES{"amax", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::amax

const check::OpCases check::AMAX = check::amax::CASES;

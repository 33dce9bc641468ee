// SPDX-License-Identifier: Apache-2.0
// Cases of hadamard: from a row of hadamard.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ops/norm/rows.h"
#include "ref/oracles.h"

#include <cmath>
#include <cstddef>

namespace check::hadamard {
namespace {

// Where the factors count, and whether they are 1 and -1 or any numbers.
enum class Signs { none, before, after, any_before, any_after };

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 16;
    int64_t pad = 0, pad1 = 0, y_pad = -1;   // elements between rows, after each group of rows0; y: -1 = as x
    int64_t misalign = 0, sign_misalign = 0; // elements off the 16-byte boundary
    uint32_t size = 16;
    Signs signs = Signs::none;
    unsigned types = ALL;
    float scale = 0;
    bool scale_given = false; // a 0 is 0, not the default
    bool in_place = false;
    Special special = Special::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/hadamard/hadamard.inc"
};

bool after(const Shape& s) { return s.signs == Signs::after || s.signs == Signs::any_after; }

double scale_of(const Shape& s) {
    return s.scale == 0 && !s.scale_given ? 1 / std::sqrt(static_cast<double>(s.size)) : static_cast<double>(s.scale);
}

// What FP32 may make of a block, u = 2^-24, with m the sum of the magnitudes of its terms: each is rounded once by its
// sign, and by log2(P) additions, which see at most m each; then the sum by the rounded scale, its product, and a sign.
//   m ((1 + u)^(log2(P) + 1) - 1) scale + 3 u |y| (1 + ..), both with 1 / 1024 of themselves for what is squared
// Products below the smallest normal number lose up to 2^-150 each: the terms', which scale multiplies, and two more.
// Where m is beyond FP32, so may be a sum on the way.
std::vector<Allowed> allow_all(ref::Type type, const ref::Call& call, const Shape& s) {
    constexpr double u = 0x1p-24, more = 1 + 0x1p-10, largest = 0x1.fffffep127, least = 0x1p-150;
    const std::vector<double> y = ref::HADAMARD.compute(call).at("y").values;
    const std::vector<double>&x = call["x"].values, &signs = call["signs"].values;
    const auto sign = [&](bool now, size_t i) { return now && !signs.empty() ? signs[i % s.size] : 1; };
    const double roundings = std::log2(static_cast<double>(s.size)) + 1;
    std::vector<Allowed> out;
    double terms = 0;
    for (size_t i = 0; i < y.size(); ++i) {
        terms = i % s.size == 0 ? 0 : terms;
        for (size_t j = i; i % s.size == 0 && j < i + s.size; ++j) {
            terms += std::fabs(x[j] * sign(!after(s), j));
        }
        const double factor = std::fabs(scale_of(s) * sign(after(s), i));
        const double error = ((terms * roundings * u + static_cast<double>(s.size) * least) * factor +
                              3 * u * std::fabs(y[i]) + 2 * least * std::max(1.0, factor)) *
                             more;
        const bool lost = std::isfinite(terms) && terms * more > largest;
        out.push_back(lost ? Allowed{Allowed::any} : allow(type, y[i], std::isfinite(y[i]) ? error : 0));
    }
    return out;
}

void add_signs(Case& c, const Shape& s, ref::Type type, Random& random) {
    const size_t base = 16 + static_cast<size_t>(s.sign_misalign) * ref::size_of(type);
    const Operand& signs = c.add("signs", offsetof(spark_hadamard_args, signs), packed(type, {s.size}), base, false);
    for (int64_t i = 0; i < c.to_fill(signs); ++i) {
        const bool any = s.signs == Signs::any_before || s.signs == Signs::any_after;
        ref::store(type, any ? 3 * random.normal() : random.chance(0.5) ? 1 : -1, c.element(signs, i));
    }
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_hadamard_args;
    Case c = make_case<Args>("hadamard", name, SPARK_OP_HADAMARD, seed);
    Random random(seed, name);
    add_rows(c, "x", offsetof(Args, x), s, type, random, 1);
    make_special(c, c.operands[0], s.special, s.rows1 * s.rows0 / 2, s.n, random);
    if (s.signs != Signs::none) {
        add_signs(c, s, type, random);
    }
    ref::Call call;
    call.tensors["x"].values = c.values(c.operands[0]);
    call.tensors["signs"].values = values_of(c, "signs");
    call.numbers = {{"size", s.size}, {"scale", scale_of(s)}, {"signs_after", after(s)}};
    add_result(c, "y", offsetof(Args, y), s, type, s.in_place, 0);
    c.as<Args>().hdr.flags = after(s) ? SPARK_HADAMARD_SIGNS_AFTER : 0;
    c.as<Args>().size = s.size;
    c.as<Args>().scale = s.scale;
    c.as<Args>().hdr.given = s.scale_given ? SPARK_HADAMARD_GIVEN_SCALE : 0;
    finish(c, s);
    c.note += ", size " + std::to_string(s.size);
    c.kind = any_kernel;
    c.expect = [call = std::move(call), s, type](size_t, const std::string&) { return allow_all(type, call, s); };
    return c;
}

constexpr RowCases<Shape> ROWS{"hadamard", build};

void named(std::vector<Entry>& out) { ROWS.named(SHAPES, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "hadamard." + name);
    Shape s;
    s.size = static_cast<uint32_t>(16 << r.between(0, 4));
    s.rows1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.rows0 = r.between(1, 9);
    s.n = s.size * r.between(1, 6);
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.sign_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.signs = static_cast<Signs>(r.between(0, 4));
    s.in_place = r.chance(0.3);
    s.scale = r.pick<float>({0, 0, 1, 0.125f, -0.5f, 12});
    s.scale_given = r.chance(0.3);
    if (r.chance(0.3)) {
        s.special = r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row});
    }
    return ROWS.entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 3) {
        ROWS.expand({.rows0 = dims[0], .n = dims[1], .size = static_cast<uint32_t>(dims[2])}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    Shape s;
    s.size = static_cast<uint32_t>(words.number("size"));
    s.signs = words.take("signs") ? Signs::before : Signs::none;
    return ROWS.worded(words, s);
}

constexpr OpCases CASES{"hadamard", named, random, sized, "rows,N,size", worded};

} // namespace
} // namespace check::hadamard

const check::OpCases check::HADAMARD = check::hadamard::CASES;

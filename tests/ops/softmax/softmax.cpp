// SPDX-License-Identifier: Apache-2.0
// Cases of softmax: from a row of shapes.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/softmax.h"

#include "ops/norm/rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace check::softmax {
namespace {

// What one row holds instead of ordinary numbers.
enum class Strange {
    none,
    nan,        // one
    plus_inf,   // one
    minus_inf,  // a third of the row: masked
    all_masked, // negative infinity throughout
    equal,      // one number throughout
    peak,       // one number far above the others, whose shares underflow
    huge,       // near the ends of the type's range
    ends,       // its ends and numbers between: differences overflow
    subnormal,  // below the smallest normal number
};

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0, y_pad = -1; // elements between rows, after each group of rows0; y: -1 = as x
    int64_t misalign = 0;                  // elements off the 16-byte boundary
    unsigned types = ALL;
    float scale = 0;
    bool scale_given = false; // a 0 is 0, not the default
    bool in_place = false, log = false;
    double spread = 3; // of ordinary numbers
    Strange strange = Strange::none;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/softmax/shapes.inc"
};

void make_strange(Case& c, const Operand& x, const Shape& s, int64_t row, Random& random) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const ref::Type type = x.view.type;
    const ref::Format format = ref::format_of(type);
    const double largest = std::ldexp(1.75, std::min(format.max_exponent(), 120));
    const double end = std::ldexp(2 - std::ldexp(1.0, -format.fraction_bits), format.max_exponent());
    const double least_normal = std::ldexp(1.0, format.min_exponent());
    const int64_t chosen = random.chance(0.5) ? s.n - 1 : random.below(s.n);
    for (int64_t i = 0; i < s.n; ++i) {
        const bool one = i == chosen;
        uint8_t* at = c.element(x, row * s.n + i);
        switch (s.strange) {
        case Strange::none: return;
        case Strange::nan: one ? ref::store(type, std::nan(""), at) : void(); break;
        case Strange::plus_inf: one ? ref::store(type, inf, at) : void(); break;
        case Strange::minus_inf: !one&& random.chance(0.3) ? ref::store(type, -inf, at) : void(); break;
        case Strange::all_masked: ref::store(type, -inf, at); break;
        case Strange::equal: ref::store(type, 1.5, at); break;
        case Strange::peak: ref::store(type, one ? 150 : random.chance(0.5) ? 40 + random.normal() : 0, at); break;
        case Strange::huge: ref::store(type, random.chance(0.3) ? largest : -largest * random.unit(), at); break;
        case Strange::ends:
            ref::store(type, random.chance(0.5) ? end * (i % 2 ? 1 : -1) : end * random.normal() / 8, at);
            break;
        case Strange::subnormal: ref::store(type, least_normal * (2 * random.unit() - 1), at); break;
        }
    }
}

constexpr double u = 0x1p-24;

// What FP32 may make of a row, d = most - s the distance of an element from the largest.
//   the power      x - most, scale * log2(e) and their product are rounded: the exponent errs by 3 u of itself, the
//                  power by 3 u d of itself; 2^x is within 2 ulp, 2^-22, and 0 below 2^-126. Halves of subnormal x and
//                  most round: the exponent errs by scale * 2^-149 in each, in the sum and in the element.
//   the sum        First relative to a lane's largest, then lifted to a larger one in each of the loop's rounds of at
//                  least 1024 elements, to the warp's and to the row's: the distances add up to d, and each lift
//                  multiplies by a power, 2^-22 and u. Terms of a lane are added in order, at most n/32 and 32 of
//                  them, then over lanes and warps in at most 9. This function: the error of the sum, relative to it.
//   the share      1 / sum within 2 u; the lane's power, 2^-22 and 3 u of its part of d; two products, u each
//   the logarithm  log2(sum) within 2^-22, relative to itself above 2; three more roundings of the result
//   a scale of 0   is 2^-149 in the kernels: powers err by that part of x
double error_of_sum(std::span<const double> x, double scale) {
    double most = -std::numeric_limits<double>::infinity(), sum = 0, weighed = 0;
    for (double value : x) {
        most = std::max(most, ref::scaled(value, scale));
    }
    for (double value : x) {
        const double d = most - ref::scaled(value, scale), power = std::exp(-d);
        sum += power;
        weighed += power > 0 ? power * d : 0;
    }
    const auto n = static_cast<double>(x.size());
    const double lifts = std::ceil(n / 1024) + 2;
    return 3 * u * weighed / sum + 0x1p-22 + (n / 32 + 32 + 9) * u + lifts * (0x1p-22 + u) + n * 0x1p-126 +
           std::fabs(scale) * 0x1p-148;
}

void allow_row(ref::Type type, std::span<const double> x, const Shape& s, std::vector<Allowed>& out) {
    const double scale = s.scale == 0 && !s.scale_given ? 1 : static_cast<double>(s.scale);
    std::vector<double> y(x.size());
    ref::softmax_row(x, scale, s.log, y);
    const double of_sum = error_of_sum(x, scale);
    double most = -std::numeric_limits<double>::infinity();
    double vanishing = 0;
    for (double value : x) {
        most = std::max(most, ref::scaled(value, scale));
        vanishing = scale == 0 && std::isfinite(value) ? std::max(vanishing, 0x1p-147 * std::fabs(value)) : vanishing;
    }
    for (size_t i = 0; i < x.size(); ++i) {
        const double d = most - ref::scaled(x[i], scale);
        const double log_of_sum = std::fabs(d + y[i]), least = 0x1p-126; // the former where y is the logarithm
        const double rounded = std::fabs(scale) * 0x1p-148 + vanishing;
        const double error = s.log ? rounded + 3 * u * d + of_sum + 0x1p-22 * (1 + log_of_sum) + 3 * u * std::fabs(y[i])
                                   : y[i] * (rounded + 3 * u * std::min(d, 800.0) + of_sum + 0x1p-21 + 4 * u) + least;
        out.push_back(allow(type, y[i], std::isfinite(y[i]) ? error : 0));
    }
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_softmax_args;
    Case c = make_case<Args>("softmax", name, SPARK_OP_SOFTMAX, seed);
    Random random(seed, name);
    const size_t base = 16 + static_cast<size_t>(s.misalign) * ref::size_of(type);
    c.add("x", offsetof(Args, x), rows_view(type, s.rows1, s.rows0, s.n, s.pad, s.pad1), base, false);
    fill(c, c.operands[0], random, s.spread);
    if (s.n > 0 && s.rows1 * s.rows0 > 0 && s.strange != Strange::none) {
        make_strange(c, c.operands[0], s, s.rows1 * s.rows0 / 2, random);
    }
    std::vector<double> x = c.values(c.operands[0]);
    const int64_t y_pad = s.y_pad < 0 ? s.pad : s.y_pad;
    s.in_place ? c.add_in_place("y", offsetof(Args, y), 0)
               : c.add("y", offsetof(Args, y), rows_view(type, s.rows1, s.rows0, s.n, y_pad, s.pad1), base, true);
    c.as<Args>().hdr.flags = s.log ? SPARK_SOFTMAX_LOG : 0;
    c.as<Args>().scale = s.scale;
    c.as<Args>().hdr.given = s.scale_given ? SPARK_SOFTMAX_GIVEN_SCALE : 0;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n) +
             (s.log ? ", log" : "");
    c.kind = any_kernel;
    c.expect = [x = std::move(x), s, type](size_t, const std::string&) {
        std::vector<Allowed> out;
        const auto n = static_cast<size_t>(s.n);
        for (size_t first = 0; first + n <= x.size() && n > 0; first += n) {
            allow_row(type, std::span(x).subspan(first, n), s, out);
        }
        return out;
    };
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"softmax", name, s.tier, [=](const Seed& seed) { return build(s, type, name, seed); }};
}

void expand(const Shape& s, const std::string& name, std::vector<Entry>& out) {
    for (ref::Type type : types_of(s.types)) {
        out.push_back(entry(s, type, name + "." + ref::name_of(type)));
    }
}

void named(std::vector<Entry>& out) { add_table("softmax", SHAPES, expand, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "softmax." + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 4) : 1;
    s.rows0 = r.between(1, 9);
    s.n = r.chance(0.5) ? r.between(1, 600) : r.pick<int64_t>({8, 16, 64, 256, 1024, 1032, 2048, 4096});
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.in_place = r.chance(0.3);
    s.log = r.chance(0.5);
    s.scale = r.pick<float>({0, 0, 1, 0.125f, 1.7f, -0.5f, 12, 1e-38f, -1e-40f, 0x1p126f});
    s.scale_given = r.chance(0.5);
    s.spread = r.pick<double>({0.5, 3, 20});
    if (r.chance(0.4)) {
        s.strange = static_cast<Strange>(r.between(1, static_cast<int64_t>(Strange::subnormal)));
    }
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        expand({.rows0 = dims[0], .n = dims[1]}, dims_name(dims), out);
    }
}

Entry worded(Words& words) {
    const Shape s{.rows0 = words.number("rows"), .n = words.number("n")};
    return entry(s, words.type(ALL), words.name());
}

constexpr OpCases CASES{"softmax", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::softmax

const check::OpCases check::SOFTMAX = check::softmax::CASES;

// SPDX-License-Identifier: Apache-2.0
// Cases of l2norm: from a row of l2norm.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/l2norm.h"
#include "ops/norm/rows.h"

#include <cstddef>

namespace check::l2norm {
namespace {

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0; // elements between rows, and after each group of rows0 rows
    int64_t y_pad = -1;        // pad of y; -1: as x
    int64_t misalign = 0;      // elements off the 16-byte boundary
    unsigned types = ALL;
    bool in_place = false;
    Special special = Special::none;
    Ends ends = Ends::none;
    float eps = 1e-6f;
    double scale = 2; // of the values
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/norm/l2norm.inc"
};

// Allowed results of one row, appended to `out`. The two ends are the oracle itself, erring down and up.
void allow_row(ref::L2norm op, std::span<const double> x, std::vector<Allowed>& out) {
    std::vector<double> low(x.size()), high(x.size());
    const double square = ref::l2norm_square(x), terms = static_cast<double>(x.size());
    const double error = error_of_r(square, op.eps, static_cast<int64_t>(x.size()), 2 * terms);
    op.error_of_r = -error;
    ref::l2norm_row(op, x, low);
    op.error_of_r = error;
    ref::l2norm_row(op, x, high);
    for (size_t i = 0; i < x.size(); ++i) {
        // y is an FP32 number, perhaps subnormal; so may be x in a row that is lowered, once or twice
        out.push_back(allow_between(op.type, low[i], high[i], 0x1p-148));
    }
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_l2norm_args;
    Case c = make_case<Args>("l2norm", name, SPARK_OP_L2NORM, seed);
    Random random(seed, name);
    add_rows(c, "x", offsetof(Args, x), s, type, random, s.scale);
    make_special(c, c.operands[0], s.special, s.rows1 * s.rows0 / 2, s.n, random);
    make_ends(c, c.operands[0], s.ends, s.rows1 * s.rows0 / 2, s.n, random);
    add_result(c, "y", offsetof(Args, y), s, type, s.in_place, 0);
    c.as<Args>().eps = s.eps;
    finish(c, s);
    c.kind = any_kernel;
    c.expect = [x = values_of(c, "x"), op = ref::L2norm{.type = type, .eps = s.eps},
                n = static_cast<size_t>(s.n)](size_t, const std::string&) {
        std::vector<Allowed> out;
        for (size_t row = 0; n > 0 && row < x.size() / n; ++row) {
            allow_row(op, row_of(x, row, n), out);
        }
        return out;
    };
    return c;
}

constexpr RowCases<Shape> ROWS{"l2norm", build};
void named(std::vector<Entry>& out) { ROWS.named(SHAPES, out); }
void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) { ROWS.sized(dims, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "l2norm." + name);
    Shape s;
    draw_rows(r, s);
    s.eps = r.pick<float>({1e-6f, 1e-5f, 1e-12f, 1, 0, 1e-40f});
    s.scale = r.pick<double>({2, 0x1p-6, 0x1p-11});
    return ROWS.entry(s, r.pick(types_of(ALL)), name);
}

Entry worded(Words& words) { return ROWS.worded(words, {}); }

constexpr OpCases CASES{"l2norm", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::l2norm

const check::OpCases check::L2NORM = check::l2norm::CASES;

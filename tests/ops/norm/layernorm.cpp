// SPDX-License-Identifier: Apache-2.0
// Cases of layernorm: from a row of layernorm.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/layernorm.h"
#include "ops/norm/rows.h"

#include <cstddef>

namespace check::layernorm {
namespace {

constexpr unsigned ROUNDED = SPARK_LAYERNORM_NORMALIZE_ROUNDED;

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0; // elements between rows, and after each group of rows0 rows
    int64_t y_pad = -1;        // pad of y and residual_out; -1: as x
    int64_t misalign = 0, weight_misalign = 0, bias_misalign = 0; // elements off the 16-byte boundary
    unsigned types = ALL;
    Column weight = Column::same, bias = Column::same;
    bool residual = false, residual_out = false;
    bool in_place = false, residual_in_place = false;
    unsigned flags = 0;
    Special special = Special::none;
    Ends ends = Ends::none;
    float eps = 1e-5f;
    double mean = 0, scale = 2; // of the values of x
    Quantised quant = {};
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/norm/layernorm.inc"
};

struct Inputs {
    std::vector<double> x, weight, bias, residual;
};

// What y = d r w + b may be off by, u = 2^-24. Steps as in rows.h:
//   mean     off by `shift` = (steps + 1) u mean(|v|): the sum, and its quotient; d by that and its own rounding;
//            and by what is lost below the smallest FP32 number where q + eps is 2^-112 or more: else v is lifted;
//   r        the square of the differences from a mean that is off is larger by shift^2 (their sum is 0), and each
//            square has two roundings of d; the rest as in error_of_r;
//   products d r and d r w, and the sum with b: one rounding each, and what is lost below the smallest FP32 number.
// Where shift is not small beside the deviation, as in a row of equal values, all that is left is |d| + shift times the
// largest r, 1 / sqrt(eps).
double error_of(const ref::LayernormRow& row, double eps, int64_t n, double y, double w, double b) {
    constexpr double u = 0x1p-24;
    const double q = row.variance;
    const double shift = (sum_steps(n) + 1) * u * row.magnitude + std::min(0x1p-149, 0x1p-93 * std::sqrt(q + eps));
    const double scaled = std::fabs(y - b), underflow = 0x1p-149 * (2 + w) + u * std::fabs(y);
    if (shift * shift > 0.1 * (q + eps)) {
        const double d = w == 0 ? 0 : scaled / w * std::sqrt(q + eps);
        return scaled + (d + shift) * w * (1 + 1e-5) / std::sqrt(eps) + underflow; // infinite: no bound, where eps is 0
    }
    const double r = 1 / std::sqrt(q + eps);
    const double error_of_factor = error_of_r(q, eps, n, 2) + u + 0.51 * shift * shift * r * r;
    return w * r * shift * (1 + error_of_factor) + scaled * (error_of_factor + 4 * u) + underflow;
}

// The results of one row before they are rounded, and what they may be off by; NaN: anything.
struct Row {
    std::vector<double> y, error, sums;

    Allowed allowed(ref::Type type, size_t i) const { return allow(type, y[i], error[i]); }
    void add_to(Numbers& numbers, size_t i) const { numbers.add(y[i], error[i]); }
};
Row row_near(const ref::Layernorm& op, const Inputs& in, size_t row, size_t n) {
    Row out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
    const ref::LayernormRow facts =
        ref::layernorm_row(op, row_of(in.x, row, n), in.weight, in.bias, row_of(in.residual, row, n), out.y, out.sums);
    // Equal values: the mean errs by a few units, at most as many as additions, the next turn sees them as the same
    // difference throughout, adds them up exactly (n times at most 300 units, below 2^24), and leaves 0.
    const bool gives_bias = facts.equal && n <= 8192 && op.eps > 0;
    for (size_t i = 0; i < n; ++i) {
        const bool undefined = facts.variance + op.eps == 0; // 0 / 0, but for what the mean is off by
        const double w = in.weight.empty() ? 1 : std::fabs(in.weight[i]), b = in.bias.empty() ? 0 : in.bias[i];
        const double error = gives_bias ? 0 : error_of(facts, op.eps, static_cast<int64_t>(n), out.y[i], w, b);
        out.error[i] = undefined ? NAN : error;
        out.y[i] = undefined ? 0 : out.y[i];
    }
    return out;
}

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_layernorm_args;
    Case c = make_case<Args>("layernorm", name, SPARK_OP_LAYERNORM, seed);
    Random random(seed, name);
    const int64_t strange = s.rows1 * s.rows0 / 2;
    add_rows(c, "x", offsetof(Args, x), s, type, random, s.scale);
    for (int64_t i = 0; i < c.to_fill(c.operands[0]); ++i) {
        uint8_t* x = c.element(c.operands[0], i);
        ref::store(type, ref::load(type, x) + s.mean, x);
    }
    make_special(c, c.operands[0], s.special, strange, s.n, random);
    make_ends(c, c.operands[0], s.ends, strange, s.n, random);
    add_column(c, "weight", offsetof(Args, weight), s.weight, type, s.n, s.weight_misalign, random);
    add_column(c, "bias", offsetof(Args, bias), s.bias, type, s.n, s.bias_misalign, random);
    const size_t residual = c.operands.size();
    if (s.residual) {
        add_rows(c, "residual", offsetof(Args, residual), s, type, random, 2);
        make_ends(c, c.operands[residual], s.ends, strange, s.n, random);
    }
    add_y(c, offsetof(Args, y), s, type);
    if (s.residual_out) {
        add_result(c, "residual_out", offsetof(Args, residual_out), s, type, s.residual_in_place, residual);
    }
    c.as<Args>().hdr.flags = s.flags;
    c.as<Args>().eps = s.eps;
    finish(c, s);
    const ref::Layernorm op{.type = type, .eps = s.eps, .normalize_rounded = (s.flags & ROUNDED) != 0};
    c.kind = any_kernel;
    const Inputs in{values_of(c, "x"), values_of(c, "weight"), values_of(c, "bias"), values_of(c, "residual")};
    c.expect = expect_rows(s, type, residual + s.residual,
                           [in, op, n = static_cast<size_t>(s.n)](size_t row) { return row_near(op, in, row, n); });
    return c;
}

constexpr RowCases<Shape> ROWS{"layernorm", build};
void named(std::vector<Entry>& out) { ROWS.named(SHAPES, out); }
void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) { ROWS.sized(dims, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "layernorm." + name);
    Shape s;
    draw_rows(r, s);
    s.weight_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.bias_misalign = r.chance(0.1) ? r.between(1, 7) : 0;
    s.weight = r.pick<Column>({Column::same, Column::same, Column::f32, Column::none});
    s.bias = r.pick<Column>({Column::same, Column::same, Column::f32, Column::none});
    s.residual = r.chance(0.4);
    s.residual_out = s.residual && r.chance(0.7);
    s.residual_in_place = s.residual_out && r.chance(0.4);
    s.flags = r.chance(0.4) ? ROUNDED : 0;
    s.eps = r.pick<float>({1e-5f, 1e-6f, 1e-12f, 1e-3f, 1e-40f});
    s.mean = r.pick<double>({0, 0, 1, -30, 1000, 3e4});
    s.scale = r.pick<double>({2, 0.1, 0});
    if (r.chance(0.3)) {
        draw_codes(r, s.quant);
    }
    return ROWS.entry(s, r.pick(types_of(ALL)), name);
}

Entry worded(Words& words) {
    Shape s;
    s.residual = s.residual_out = s.residual_in_place = words.take("+residual");
    return ROWS.worded(words, s);
}

constexpr OpCases CASES{"layernorm", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::layernorm

const check::OpCases check::LAYERNORM = check::layernorm::CASES;

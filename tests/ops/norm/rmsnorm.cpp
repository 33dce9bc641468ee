// SPDX-License-Identifier: Apache-2.0
// Cases of rmsnorm: from a row of rmsnorm.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ops/norm/between.h"

#include <cmath>
#include <cstddef>

namespace check::rmsnorm {
namespace {

constexpr unsigned ROUNDED = SPARK_RMSNORM_NORMALIZE_ROUNDED;
constexpr unsigned BEFORE = SPARK_RMSNORM_ROUND_BEFORE_WEIGHT;
constexpr unsigned PLUS_ONE = SPARK_RMSNORM_WEIGHT_PLUS_ONE;

struct Shape {
    const char* name = "";
    int64_t rows1 = 1, rows0 = 1, n = 1;
    int64_t pad = 0, pad1 = 0;                 // elements between rows, and after each group of rows0 rows
    int64_t y_pad = -1;                        // pad of y and residual_out; -1: as x
    int64_t misalign = 0, weight_misalign = 0; // elements off the 16-byte boundary
    unsigned types = ALL;
    Column weight = Column::same;
    bool residual = false, residual_out = false;
    bool in_place = false, residual_in_place = false;
    unsigned flags = 0;
    Special special = Special::none;
    Ends ends = Ends::none;
    float eps = 1e-6f;
    Quantised quant = {};
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/norm/rmsnorm.inc"
};

struct Inputs {
    std::vector<double> x, weight, residual;
};

Case build(const Shape& s, ref::Type type, const std::string& name, const Seed& seed) {
    using Args = spark_rmsnorm_args;
    Case c = make_case<Args>("rmsnorm", name, SPARK_OP_RMSNORM, seed);
    Random random(seed, name);
    const int64_t strange = s.rows1 * s.rows0 / 2;
    add_rows(c, "x", offsetof(Args, x), s, type, random, 2);
    make_special(c, c.operands[0], s.special, strange, s.n, random);
    make_ends(c, c.operands[0], s.ends, strange, s.n, random);
    add_column(c, "weight", offsetof(Args, weight), s.weight, type, s.n, s.weight_misalign, random);
    const size_t residual = c.operands.size();
    if (s.residual) {
        add_rows(c, "residual", offsetof(Args, residual), s, type, random, 2);
        if (s.special != Special::nan_row && s.special != Special::inf_row) {
            make_special(c, c.operands[residual], s.special, strange, s.n, random);
        }
        make_ends(c, c.operands[residual], s.ends, strange, s.n, random);
    }
    add_y(c, offsetof(Args, y), s, type);
    if (s.residual_out) {
        add_result(c, "residual_out", offsetof(Args, residual_out), s, type, s.residual_in_place, residual);
    }
    c.as<Args>().hdr.flags = s.flags;
    c.as<Args>().eps = s.eps;
    finish(c, s);
    ref::Rmsnorm op{.type = type, .eps = s.eps};
    op.weight_plus_one = s.flags & PLUS_ONE;
    op.round_before_weight = s.flags & BEFORE;
    op.normalize_rounded = s.flags & ROUNDED;
    op.coded = s.quant.form.has_value();
    c.kind = any_kernel;
    const Inputs in{values_of(c, "x"), values_of(c, "weight"), values_of(c, "residual")};
    c.expect = expect_rows(s, type, residual + s.residual, [in, op, n = static_cast<size_t>(s.n)](size_t row) {
        return normed_between(op, row_of(in.x, row, n), in.weight, row_of(in.residual, row, n));
    });
    return c;
}

constexpr RowCases<Shape> ROWS{"rmsnorm", build};
void named(std::vector<Entry>& out) { ROWS.named(SHAPES, out); }
void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) { ROWS.sized(dims, out); }

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "rmsnorm." + name);
    Shape s;
    draw_rows(r, s);
    s.weight_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.weight = r.pick<Column>({Column::same, Column::same, Column::f32, Column::none});
    s.residual = r.chance(0.4);
    s.residual_out = s.residual && r.chance(0.7);
    s.residual_in_place = s.residual_out && r.chance(0.4);
    s.flags = (r.chance(0.3) ? ROUNDED : 0) | (r.chance(0.3) ? BEFORE : 0) | (r.chance(0.3) ? PLUS_ONE : 0);
    s.eps = r.pick<float>({1e-6f, 1e-5f, 1e-3f, 0, 1e-40f});
    if (r.chance(0.4)) {
        draw_codes(r, s.quant);
    }
    return ROWS.entry(s, r.pick(types_of(ALL)), name);
}

Entry worded(Words& words) {
    Shape s{.eps = 1e-5f};
    s.residual = s.residual_out = s.residual_in_place = words.take("+residual");
    return ROWS.worded(words, s);
}

constexpr OpCases CASES{"rmsnorm", named, random, sized, "rows,N", worded};

} // namespace
} // namespace check::rmsnorm

const check::OpCases check::RMSNORM = check::rmsnorm::CASES;

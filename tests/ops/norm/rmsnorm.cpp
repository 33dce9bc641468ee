// SPDX-License-Identifier: Apache-2.0
// Cases of rmsnorm: from a row of rmsnorm.inc (or a random one) to arguments, memory and right results.
// Called by spark-check through families.cpp; results come from tests/ref.
#include "ref/rmsnorm.h"
#include "ops/norm/rows.h"

#include <cfloat>
#include <cmath>
#include <cstddef>

namespace check {
namespace {

enum class Weight { same, f32, none };
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
    Weight weight = Weight::same;
    bool residual = false, residual_out = false;
    bool in_place = false, residual_in_place = false;
    unsigned flags = 0;
    Special special = Special::none;
    float eps = 1e-6f;
    Tier tier = Tier::quick;
};

const Shape SHAPES[] = {
#include "ops/norm/rmsnorm.inc"
};

struct Inputs {
    std::vector<double> x, weight, residual;
};

// Allowed results of one row, appended to `out`. The two ends are the oracle itself, erring down and up.
void allow_row(ref::Rmsnorm op, const Inputs& in, size_t first, size_t n, bool residual_out,
               std::vector<Allowed>& out) {
    const auto row = [&](const std::vector<double>& v) {
        return v.empty() ? std::span<const double>() : std::span<const double>(v).subspan(first, n);
    };
    std::vector<double> low(n), high(n), sums(n);
    const double ms = rmsnorm_mean_square(op, row(in.x), row(in.residual));
    const double r_error = error_of_r(ms, op.eps, static_cast<int64_t>(n), 0x1p-149);
    for (double sign : {-1.0, 1.0}) {
        op.error_of_r = sign * r_error;
        op.error_of_product = sign * 3 * 0x1p-24; // 1 + w, t times w, and one for another order of the two products
        rmsnorm_row(op, row(in.x), in.weight, row(in.residual), sign < 0 ? low : high, sums);
    }
    for (size_t i = 0; i < n; ++i) {
        if (residual_out) {
            out.push_back(allow(op.type, sums[i], 0)); // exact: one FP32 addition, one rounding
            continue;
        }
        if (std::isfinite(ms) && ms * static_cast<double>(n) > FLT_MAX / 2) {
            out.push_back({Allowed::any}); // FP32 accumulation is part of the definition, and overflows here
            continue;
        }
        const double w = in.weight.empty() ? 1 : std::fabs(in.weight[i]) + 1;
        const double underflow = 0x1p-149 * (1 + w); // t and the product are FP32 numbers, perhaps subnormal
        out.push_back(allow_between(op.type, low[i], high[i], underflow));
    }
}

void set_expectation(Case& c, const Shape& s, ref::Type type) {
    const auto find = [&c](const char* field) -> const Operand* {
        for (const Operand& operand : c.operands) {
            if (operand.field == field) {
                return &operand;
            }
        }
        return nullptr;
    };
    Inputs in;
    in.x = c.values(*find("x"));
    in.weight = find("weight") ? c.values(*find("weight")) : std::vector<double>();
    in.residual = find("residual") ? c.values(*find("residual")) : std::vector<double>();
    ref::Rmsnorm op{.type = type, .eps = s.eps};
    op.weight_plus_one = s.flags & PLUS_ONE;
    op.round_before_weight = s.flags & BEFORE;
    op.normalize_rounded = s.flags & ROUNDED;
    std::vector<std::string> fields;
    for (const Operand& operand : c.operands) {
        fields.push_back(operand.field);
    }
    const auto n = static_cast<size_t>(s.n);
    c.expect = [in = std::move(in), op, fields, n](size_t index, const std::string&) {
        std::vector<Allowed> out;
        for (size_t first = 0; first + n <= in.x.size() && n > 0; first += n) {
            allow_row(op, in, first, n, fields[index] == "residual_out", out);
        }
        return out;
    };
}

Case build(const Shape& s, ref::Type type, const std::string& name, uint64_t seed) {
    using Args = spark_rmsnorm_args;
    Case c = make_case<Args>("rmsnorm", name, SPARK_OP_RMSNORM);
    Random random(seed, name);
    const size_t size = ref::size_of(type);
    const size_t base = 16 + static_cast<size_t>(s.misalign) * size;
    const View view = rows_view(type, s.rows1, s.rows0, s.n, s.pad, s.pad1);
    const View out_view = rows_view(type, s.rows1, s.rows0, s.n, s.y_pad < 0 ? s.pad : s.y_pad, s.pad1);
    const int64_t strange = s.rows1 * s.rows0 / 2;

    c.add("x", offsetof(Args, x), view, base, false);
    fill(c, c.operands[0], random, 2);
    make_special(c, c.operands[0], s.special, strange, s.n, random);
    if (s.weight != Weight::none) {
        const ref::Type weight_type = s.weight == Weight::f32 ? ref::Type::f32 : type;
        const size_t weight_base = 16 + static_cast<size_t>(s.weight_misalign) * ref::size_of(weight_type);
        fill(c, c.add("weight", offsetof(Args, weight), packed(weight_type, {s.n}), weight_base, false), random);
    }
    const size_t residual = c.operands.size();
    if (s.residual) {
        fill(c, c.add("residual", offsetof(Args, residual), view, base, false), random, 2);
        if (s.special != Special::nan_row && s.special != Special::inf_row) {
            make_special(c, c.operands[residual], s.special, strange, s.n, random);
        }
    }
    s.in_place ? c.add_in_place("y", offsetof(Args, y), 0) : c.add("y", offsetof(Args, y), out_view, base, true);
    if (s.residual_out) {
        s.residual_in_place ? c.add_in_place("residual_out", offsetof(Args, residual_out), residual)
                            : c.add("residual_out", offsetof(Args, residual_out), out_view, base, true);
    }
    c.as<Args>().hdr.flags = s.flags;
    c.as<Args>().eps = s.eps;
    c.large = s.tier == Tier::card;
    c.note = "rows " + std::to_string(s.rows1) + "x" + std::to_string(s.rows0) + ", N " + std::to_string(s.n);
    set_expectation(c, s, type);
    return c;
}

Entry entry(const Shape& s, ref::Type type, const std::string& name) {
    return {"rmsnorm", name, s.tier, [s, type, name](uint64_t seed) { return build(s, type, name, seed); }};
}

void named(std::vector<Entry>& out) {
    for (const Shape& s : SHAPES) {
        for (ref::Type type : types_of(s.types)) {
            out.push_back(entry(s, type, std::string(s.name) + "." + ref::name_of(type)));
        }
    }
}

Entry random(uint64_t seed, int64_t index) {
    const std::string name = "random_" + std::to_string(index);
    Random r(seed, "rmsnorm." + name);
    Shape s;
    s.rows1 = r.chance(0.3) ? r.between(2, 5) : 1;
    s.rows0 = r.between(1, 12);
    s.n = r.chance(0.5) ? r.between(1, 600) : r.pick<int64_t>({8, 16, 64, 128, 1024, 2048, 3072, 4096});
    s.pad = r.chance(0.4) ? r.pick<int64_t>({1, 2, 4, 8, 16, 24}) : 0;
    s.pad1 = r.chance(0.4) ? r.pick<int64_t>({1, 8, 64}) : 0;
    s.y_pad = r.chance(0.3) ? r.pick<int64_t>({0, 1, 8}) : -1;
    s.misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.weight_misalign = r.chance(0.2) ? r.between(1, 7) : 0;
    s.weight = r.pick<Weight>({Weight::same, Weight::same, Weight::f32, Weight::none});
    s.residual = r.chance(0.4);
    s.residual_out = s.residual && r.chance(0.7);
    s.in_place = r.chance(0.3);
    s.residual_in_place = s.residual_out && r.chance(0.4);
    s.flags = (r.chance(0.3) ? ROUNDED : 0) | (r.chance(0.3) ? BEFORE : 0) | (r.chance(0.3) ? PLUS_ONE : 0);
    s.special = r.chance(0.3)
                    ? r.pick<Special>({Special::nan_row, Special::inf_row, Special::denormal_row, Special::zero_row})
                    : Special::none;
    s.eps = r.pick<float>({1e-6f, 1e-5f, 1e-3f});
    return entry(s, r.pick(types_of(ALL)), name);
}

void sized(const std::vector<int64_t>& dims, std::vector<Entry>& out) {
    if (dims.size() == 2) {
        const Shape s{.rows0 = dims[0], .n = dims[1]};
        for (ref::Type type : types_of(ALL)) {
            out.push_back(entry(s, type, dims_name(dims) + "." + ref::name_of(type)));
        }
    }
}

} // namespace

extern const Family RMSNORM{"rmsnorm", named, random, sized, "rows,N"};

} // namespace check
